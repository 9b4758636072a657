// Files that appear whole or not at all: written beside, then renamed.
#pragma once
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace trainwire {

// A file being written, in large pieces.
class Sink {
 public:
  explicit Sink(const std::filesystem::path& file);
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  template <class... T>
  void print(fmt::format_string<T...> format, T&&... arguments) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<T>(arguments)...);
    if (buffer_.size() > (std::size_t{1} << 20)) flush();
  }
  void close();  // throws what could not be written

 private:
  void flush();
  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
  fmt::memory_buffer buffer_;
};

struct OutputFile {
  std::string name;
  std::function<void(Sink&)> write;
};

// Writes NAME.tmp of every file, then renames them all. Throws ConfigError when the folder cannot be written; then
// none of the files has changed.
void write_files(const std::filesystem::path& folder, const std::vector<OutputFile>& files);

std::string csv_field(std::string_view);    // quoted where it must be
std::string json_string(std::string_view);  // with its quotes

}  // namespace trainwire
