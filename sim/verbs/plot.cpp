// trainwire plot: the pictures and the page, by reports/plot.py with a Python that has matplotlib.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "sim/config/data_dir.h"
#include "sim/config/problems.h"
#include "sim/verbs/output.h"

extern char** environ;

namespace trainwire {

namespace fs = std::filesystem;

namespace {

// Runs a program and waits. Exit status; -1: it could not be started or was killed.
int run_program(const std::vector<std::string>& command, bool silent) {
  std::vector<char*> arguments;
  for (const std::string& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (silent) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1 /* O_WRONLY */, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1 /* O_WRONLY */, 0);
  }
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Debian's matplotlib belongs to Debian's own python3, which need not be the first one on PATH.
std::string find_python() {
  for (const std::string python : {"/usr/bin/python3", "python3"}) {
    if (run_program({python, "-c", "import matplotlib"}, true) == 0) return python;
  }
  throw UsageError(
      "no python3 with matplotlib was found (neither /usr/bin/python3 nor the first on PATH has it). Install it "
      "(Debian, "
      "Ubuntu: apt install python3-matplotlib; elsewhere: python3 -m pip install matplotlib)");
}

}  // namespace

int plot(const Call& call) {
  if (!call.overrides.empty()) throw UsageError("plot has no scenario: --set changes nothing here");
  Problems problems;
  std::error_code error;
  for (const std::string& name : call.positional) {
    if (!fs::exists(fs::path(name) / "report.json", error)) {
      problems.add({{name, 0},
                    "",
                    "",
                    "is not a result folder: it has no report.json",
                    "trainwire simulate or execute writes one"});
    }
  }
  problems.throw_if_any();
  const fs::path script = data_dir() / "reports" / "plot.py";
  if (!fs::exists(script, error)) {
    throw UsageError(
        fmt::format("{} is not there. Set TRAINWIRE_HOME to the folder of trainwire's sources", script.string()));
  }
  // The same default as the script's: the folder itself, or the one around several.
  const fs::path first = fs::weakly_canonical(call.positional[0], error);
  const fs::path around = call.positional.size() == 1 ? first : first.parent_path();
  const fs::path wanted = call.output.empty() ? around.lexically_proximate(fs::current_path(error)) : call.output;
  const OutputFolder folder(wanted);
  std::vector<std::string> command{find_python(), script.string()};
  command.insert(command.end(), call.positional.begin(), call.positional.end());
  command.insert(command.end(), {"-o", folder.path().string()});
  const int status = run_program(command, call.quiet || call.json);
  if (status != 0) {
    fmt::print(stderr, "trainwire: {} failed (status {})\n", script.string(), status);
    return failed;
  }
  const std::string page = (folder.path() / "index.html").string();
  fmt::print("{}\n", call.json ? fmt::format("{{\"page\": \"{}\"}}", page) : page);
  return done;
}

}  // namespace trainwire
