// Runs the built command as a person would and keeps what it said.
#pragma once
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/config/files.h"

struct Said {
  int status = -1;
  std::string out, err;
};

inline std::string slurp(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// `arguments` go through the shell, in `folder`. 124: still running after `seconds`.
inline Said trainwire_says(const TestFolder& folder, const std::string& arguments, int seconds = 60) {
  const std::string command = "cd '" + folder.path.string() + "' && timeout " + std::to_string(seconds) +
                              " '" TRAINWIRE_COMMAND "' " + arguments + " >.out 2>.err </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(folder.path / ".out"), slurp(folder.path / ".err")};
}
