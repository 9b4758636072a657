#include "sim/score/csv.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>

#include "sim/config/problems.h"

#ifdef TRAINWIRE_HAS_ZLIB
#include <zlib.h>
#else
#include <cstdio>
#endif

namespace trainwire {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file, int line, const std::string& problem,
                         const std::string& fix = "") {
  throw ConfigError({{{file.string(), line}, "", "", problem, fix}});
}

#ifdef TRAINWIRE_HAS_ZLIB
std::string read_bytes(const std::filesystem::path& file) {  // gzopen reads plain files as they are
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(file.c_str(), "rb"), gzclose);
  std::string text;
  char piece[1 << 16];
  while (in) {
    const int count = gzread(in.get(), piece, sizeof piece);
    if (count < 0) refuse(file, 0, "cannot be read to its end");
    if (count == 0) return text;
    text.append(piece, static_cast<std::size_t>(count));
  }
  refuse(file, 0, "cannot be read");
}
#else
std::string read_bytes(const std::filesystem::path& file) {
  if (file.extension() == ".gz")
    refuse(file, 0, "this build reads no gzipped tables", "Unpack it, or install zlib1g-dev and build again");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(file.c_str(), "rb"), std::fclose);
  if (!in) refuse(file, 0, "cannot be read");
  std::string text;
  char piece[1 << 16];
  while (const std::size_t count = std::fread(piece, 1, sizeof piece, in.get())) text.append(piece, count);
  return text;
}
#endif

// Fields of one record; quoted ones may hold commas, quotes (doubled) and line ends. Advances `at` past the record.
std::vector<std::string> record(std::string_view text, std::size_t& at, int& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"') {
        fields.back() += c;
      } else if (at + 1 < text.size() && text[at + 1] == '"') {
        fields.back() += text[++at];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      fields.emplace_back();
    } else if (c == '\n') {
      ++at;
      break;
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace

int Csv::column(std::string_view name) const {
  for (std::size_t i = 0; i < header.size(); ++i)
    if (header[i] == name) return static_cast<int>(i);
  return -1;
}

bool Csv::has(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names)
    if (column(name) < 0) return false;
  return true;
}

const std::string& Csv::at(std::size_t row, std::string_view name) const {
  static const std::string none;
  const int c = column(name);
  return c < 0 ? none : rows[row][static_cast<std::size_t>(c)];
}

double Csv::number(std::size_t row, std::string_view name) const {
  const std::string& text = at(row, name);
  if (text.empty()) return std::numeric_limits<double>::quiet_NaN();
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !std::isfinite(value))
    throw ConfigError({{{file.string(), lines[row]}, std::string(name), text, "is not a number", ""}});
  return value;
}

std::string Csv::stem() const {
  std::string name = file.filename().string();
  for (const std::string ending : {".gz", ".csv"})
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

Csv read_csv(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) refuse(file, 0, "there is no such table");
  Csv csv;
  csv.file = file;
  const std::string text = read_bytes(file);
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const int start = line;
    std::vector<std::string> fields = record(text, at, line);
    if (fields.size() == 1 && fields[0].empty()) continue;
    if (fields[0].starts_with("##")) continue;  // a comment; vTrain's header starts with "# GPUs"
    if (csv.header.empty()) {
      csv.header = std::move(fields);
      continue;
    }
    if (fields.size() != csv.header.size())
      refuse(file, start, fmt::format("the row has {} fields, the header {}", fields.size(), csv.header.size()));
    csv.rows.push_back(std::move(fields));
    csv.lines.push_back(start);
  }
  if (csv.rows.empty()) refuse(file, 1, "has no rows", "A table has a line of column names, then one line a row");
  return csv;
}

}  // namespace trainwire
