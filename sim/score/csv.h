// Tables of measurements as their publishers wrote them: CSV, also gzipped.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace trainwire {

struct Csv {
  std::filesystem::path file;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // as many fields as the header
  std::vector<int> lines;                      // of the rows in the file

  int column(std::string_view name) const;  // -1: none
  bool has(std::initializer_list<std::string_view> names) const;
  const std::string& at(std::size_t row, std::string_view name) const;  // empty where there is no such column
  // NaN where the field is empty; throws ConfigError with file and line where it is no number.
  double number(std::size_t row, std::string_view name) const;
  // File name without .csv and .csv.gz.
  std::string stem() const;
};

// Throws ConfigError: not there, not text, rows of differing length.
Csv read_csv(const std::filesystem::path& file);

}  // namespace trainwire
