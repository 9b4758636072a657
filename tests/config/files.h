// A folder of its own for a test, removed at the end, and the text of collected problems.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/config/problems.h"

struct TestFolder {
  std::filesystem::path path;
  explicit TestFolder(const std::string& name)
      : path(std::filesystem::temp_directory_path() / ("trainwire-" + name + "-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return path / name;
  }
};

inline std::string all_text(const trainwire::Problems& problems) {
  return trainwire::ConfigError(problems.all()).what();
}
