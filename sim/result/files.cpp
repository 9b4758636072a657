// Output files: buffered, written beside and renamed, every failure a message that names the file.
#include "sim/result/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "sim/config/problems.h"

namespace trainwire {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw ConfigError({Problem{{path.string(), 0},
                             "",
                             "",
                             "cannot be written (" + why + ")",
                             "Choose a folder that you may write to with -o DIR."}});
}

fs::path beside(const fs::path& folder, const OutputFile& file) { return folder / (file.name + ".tmp"); }

}  // namespace

Sink::Sink(const fs::path& file) : path_(file), file_(std::fopen(file.c_str(), "wb")) {
  if (file_ == nullptr) fail(path_, std::strerror(errno));
}

Sink::~Sink() {
  if (file_ != nullptr) std::fclose(file_);
}

void Sink::flush() {
  if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size()) fail(path_, std::strerror(errno));
  buffer_.clear();
}

void Sink::close() {
  flush();
  std::FILE* const file = std::exchange(file_, nullptr);
  if (std::fclose(file) != 0) fail(path_, std::strerror(errno));
}

void write_files(const fs::path& folder, const std::vector<OutputFile>& files) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(folder, error.message());
  try {
    for (const auto& file : files) {
      Sink sink(beside(folder, file));
      file.write(sink);
      sink.close();
    }
  } catch (...) {
    for (const auto& file : files) fs::remove(beside(folder, file), error);
    throw;
  }
  for (const auto& file : files) {
    fs::rename(beside(folder, file), folder / file.name, error);
    if (error) fail(folder / file.name, error.message());
  }
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string json_string(std::string_view text) {
  const auto plain = [](char c) { return c >= ' ' && c < 127 && c != '"' && c != '\\'; };
  if (std::all_of(text.begin(), text.end(), plain)) return '"' + std::string(text) + '"';
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace trainwire
