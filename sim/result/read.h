// Reads back what write_results() wrote.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sim/result/compare.h"

namespace trainwire {

struct TimelineRow {
  std::string op_id, stream, phase, axis, kind, name;
  std::int32_t rank = 0;
  double start_s = 0, end_s = 0;
};

struct ResultFolder {
  std::filesystem::path folder;
  std::string scenario, kind;
  double step_time_s = 0;
  std::vector<double> step_times_s;
  std::vector<std::pair<std::string, double>> breakdown;  // in the order of report.json
  std::vector<TimelineRow> rows;
};

// A folder, or the report.json in it. Throws ConfigError.
ResultFolder read_results(const std::filesystem::path& path);

}  // namespace trainwire
