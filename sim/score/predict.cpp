// Steps are predicted by the simulator itself, each from a scenario as a person would write it. SimGrid has one engine
// a process: workers are processes, and results come back through files.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <stdexcept>

#include "sim/build/build.h"
#include "sim/config/data_dir.h"
#include "sim/engine/simulate.h"
#include "sim/scenario/scenario.h"
#include "sim/score/score.h"

namespace trainwire {
namespace {

std::filesystem::path scenario_file(const std::string& name) { return data_dir() / "scenarios" / (name + ".yaml"); }

struct Answer {
  double seconds = 0;
  char reason[500] = "";
};

// Problems without the place in a file that nobody wrote, so that like reasons read alike.
std::string without_places(std::string text, const std::string& file) {
  for (std::size_t at = text.find(file); at != std::string::npos; at = text.find(file, at)) {
    const std::size_t end = text.find(": ", at + file.size());
    text.erase(at, end == std::string::npos ? file.size() : end + 2 - at);
  }
  return text;
}

Answer answer(const ScoreRow& row) {
  Answer a;
  try {
    a.seconds = simulate_step(row.step->scenario, row.id);
  } catch (const std::exception& e) {
    std::string text = without_places(e.what(), scenario_file(row.id).string());
    for (char& c : text)
      if (c == '\n') c = ' ';
    std::snprintf(a.reason, sizeof a.reason, "%s", text.c_str());
  }
  return a;
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// Worker `w` of n takes the rows w, w+n, …; heavy and light rows are neighbours, so shares are alike.
pid_t start_worker(const std::vector<ScoreRow*>& rows, std::size_t w, std::size_t n, std::FILE* out) {
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process for the predictions");
  if (child > 0) return child;
  for (std::size_t i = w; i < rows.size(); i += n) {
    const Answer a = answer(*rows[i]);
    if (std::fwrite(&a, sizeof a, 1, out) != 1) _exit(1);
  }
  _exit(std::fflush(out) == 0 ? 0 : 1);
}

}  // namespace

double simulate_step(const std::string& scenario, const std::string& name) {
  Problems problems;
  const std::filesystem::path file = scenario_file(name);
  const Value root = read_text(scenario, file.string(), problems);
  problems.throw_if_any();
  const Scenario s = load_scenario(root, file);
  return simulate(s, build_plan(s)).step_time_s;
}

void predict_steps(std::vector<ScoreTable>& tables, int workers) {
  std::vector<ScoreRow*> rows;
  for (ScoreTable& table : tables)
    for (ScoreRow& row : table.rows)
      if (row.step && row.predicted()) rows.push_back(&row);
  const auto n = std::min(rows.size(), static_cast<std::size_t>(std::max(1, workers)));
  std::vector<File> files;
  std::vector<pid_t> children;
  for (std::size_t w = 0; w < n; ++w) {
    files.emplace_back(std::tmpfile(), std::fclose);
    if (!files.back()) throw std::runtime_error("cannot make a temporary file for the predictions");
    children.push_back(start_worker(rows, w, n, files.back().get()));
  }
  for (std::size_t w = 0; w < n; ++w) {
    int status = 0;
    waitpid(children[w], &status, 0);
    std::rewind(files[w].get());
    for (std::size_t i = w; i < rows.size(); i += n) {
      Answer a;
      if (std::fread(&a, sizeof a, 1, files[w].get()) != 1)
        std::snprintf(a.reason, sizeof a.reason, "the process that predicts this row or one before it ended early");
      rows[i]->predicted_s = a.seconds;
      rows[i]->reason = a.reason;
    }
  }
}

}  // namespace trainwire
