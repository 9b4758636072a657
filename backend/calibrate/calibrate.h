// Measures this machine with the CPU backend's own kernels and messages, and writes a machine file for `simulate`.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace trainwire::cpu {

struct CalibrateOptions {
  std::filesystem::path file;                   // empty: topologies/this-machine.yaml of data_dir()
  bool quick = false;                           // fewer shapes and repetitions: under 6 s
  bool force = false;                           // also when the file is of today and of this host
  std::function<void(const std::string&)> say;  // progress; may be empty
};

// `arguments`: the command line, to start itself again as several ranks. Exit status; the file is written beside and
// renamed. Throws ConfigError when it cannot be written.
int calibrate(const CalibrateOptions& options, const std::vector<std::string>& arguments);

std::filesystem::path machine_file(const CalibrateOptions& options);

}  // namespace trainwire::cpu
