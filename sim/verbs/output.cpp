// Where a verb writes, and what it says while it works.
#include "sim/verbs/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "sim/config/problems.h"

namespace trainwire {

namespace fs = std::filesystem;

namespace {

const auto process_start = std::chrono::steady_clock::now();

[[noreturn]] void refuse(const fs::path& folder, const std::string& why) {
  Problems problems;
  problems.add(
      {{folder.string(), 0}, "", "", "the output folder cannot be written: " + why, "Choose another with -o DIR"});
  problems.throw_if_any();
  throw std::logic_error("unreachable");
}

}  // namespace

double seconds_since_start() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - process_start).count();
}

OutputFolder::OutputFolder(fs::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path at = folder_; !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
    missing.push_back(at);
    if (at == at.parent_path()) break;
  }
  std::reverse(missing.begin(), missing.end());
  fs::create_directories(folder_, error);
  for (const fs::path& made : missing) {
    std::error_code ignored;
    if (fs::is_directory(made, ignored)) created_.push_back(made);
  }
  std::string why = error ? error.message() : "";
  if (why.empty()) {
    const fs::path probe = folder_ / fmt::format(".trainwire-{}", getpid());
    if (!(std::ofstream(probe) << "x" << std::flush)) why = "no permission";
    fs::remove(probe, error);
  }
  if (!why.empty()) {
    for (auto made = created_.rbegin(); made != created_.rend(); ++made) fs::remove(*made, error);
    refuse(folder_, why);
  }
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  for (auto made = created_.rbegin(); made != created_.rend(); ++made) {
    if (!fs::is_empty(*made, ignored)) break;
    fs::remove(*made, ignored);
  }
}

fs::path output_path(const Call& call, const fs::path& scenario) {
  if (!call.output.empty()) return call.output;
  return fs::path("reports") / "runs" / scenario.stem() / call.verb;
}

void say(const Call& call, const std::string& text) {
  if (!call.quiet) fmt::print(stderr, "{}\n", text);
}

Progress::Progress(const Call& call, std::string what) : what_(std::move(what)) {
  if (!call.quiet && isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { run(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Progress::run() {
  std::unique_lock lock(mutex_);
  bool shown = false;
  for (int seconds = 2; !ended_.wait_for(lock, std::chrono::seconds(seconds == 2 ? 2 : 1), [this] { return over_; });
       ++seconds) {
    fmt::print(stderr, "\r{} ... {} s", what_, seconds);
    std::fflush(stderr);
    shown = true;
  }
  if (shown) fmt::print(stderr, "\r{:{}}\r", "", what_.size() + 16);
}

}  // namespace trainwire
