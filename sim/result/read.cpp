// report.json and timeline.csv back into values; whatever does not fit is the reader's ConfigError with file and line.
#include "sim/result/read.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/config/problems.h"

namespace trainwire {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* columns = "op_id,rank,stream,phase,axis,kind,name,start_s,end_s";

[[noreturn]] void fail(const fs::path& file, int line, const std::string& problem) {
  throw ConfigError({Problem{{file.string(), line},
                             "",
                             "",
                             problem,
                             "Give a folder that simulate or execute wrote, or the report.json in it."}});
}

void read_breakdown(const Json& parts, ResultFolder& result) {
  for (const auto& [name, value] : parts.items()) {
    if (value.is_number()) result.breakdown.emplace_back(name, value.get<double>());
    if (!value.is_object()) continue;
    for (const auto& [axis, seconds] : value.items())
      result.breakdown.emplace_back("exposed " + axis, seconds.template get<double>());
  }
}

void read_report(const fs::path& file, ResultFolder& result) {
  std::ifstream in(file);
  if (!in) fail(file, 0, "cannot be read");
  try {
    const Json json = Json::parse(in);
    if (json.value("schema", "") != "trainwire.report/1") fail(file, 0, "is no report of trainwire (schema)");
    result.scenario = json.at("scenario").get<std::string>();
    result.kind = json.at("kind").get<std::string>();
    result.step_time_s = json.at("step_time_s").get<double>();
    if (json.contains("step_times_s")) result.step_times_s = json.at("step_times_s").get<std::vector<double>>();
    read_breakdown(json.at("breakdown_s"), result);
  } catch (const Json::exception& error) {
    fail(file, 0, std::string("is no report of trainwire (") + error.what() + ")");
  }
}

// The fields of one line; quotes as in RFC 4180.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += c, ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else if (c != '\r')
      fields.back() += c;
  }
  return fields;
}

double number(const fs::path& file, int line, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) fail(file, line, "\"" + text + "\" is no number");
  return value;
}

void read_timeline(const fs::path& file, ResultFolder& result) {
  std::ifstream in(file);
  if (!in) fail(file, 0, "cannot be read");
  std::string text;
  int line = 1;
  if (!std::getline(in, text) || text != columns) fail(file, 1, std::string("the columns must be ") + columns);
  while (std::getline(in, text)) {
    ++line;
    auto f = fields_of(text);
    if (f.size() != 9) fail(file, line, "9 fields expected, " + std::to_string(f.size()) + " found");
    const auto rank = static_cast<std::int32_t>(number(file, line, f[1]));
    const double start = number(file, line, f[7]), end = number(file, line, f[8]);
    result.rows.push_back({std::move(f[0]), std::move(f[2]), std::move(f[3]), std::move(f[4]), std::move(f[5]),
                           std::move(f[6]), rank, start, end});
  }
}

}  // namespace

ResultFolder read_results(const fs::path& path) {
  ResultFolder result;
  const bool file = fs::is_regular_file(path);
  result.folder = file ? path.parent_path() : path;
  if (!fs::exists(path)) fail(path, 0, "does not exist");
  read_report(file ? path : path / "report.json", result);
  read_timeline(result.folder / "timeline.csv", result);
  return result;
}

}  // namespace trainwire
