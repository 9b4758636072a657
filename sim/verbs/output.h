// Where a verb writes, and what it says while it works.
#pragma once
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "sim/verbs/verbs.h"

namespace trainwire {

// Makes sure before the work that the folder can be written; takes it away again when nothing was put there.
class OutputFolder {
 public:
  explicit OutputFolder(std::filesystem::path folder);  // throws ConfigError
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  const std::filesystem::path& path() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> created_;  // outermost first
};

// -o, else reports/runs/<scenario file>/<verb>.
std::filesystem::path output_path(const Call&, const std::filesystem::path& scenario);

// A line on standard error unless -q.
void say(const Call&, const std::string& text);

// Tells a person at a terminal that work goes on, from its second second.
class Progress {
 public:
  Progress(const Call&, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void run();
  std::string what_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread thread_;
};

double seconds_since_start();  // of the process

}  // namespace trainwire
