// Predicted against measured: two result folders of one scenario, operation by operation.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace trainwire {

struct ComparedOp {
  std::string op_id;
  std::int32_t rank = 0;
  std::string stream, phase, axis, kind, name;
  double predicted_s = 0, measured_s = 0;  // durations
};

// Operations that have something in common, or a part of the step. Seconds a rank and step.
struct ComparedPart {
  std::string name;
  std::int64_t operations = 0;  // over all ranks
  double predicted_s = 0, measured_s = 0;
};

struct Comparison {
  std::string scenario, predicted_kind, measured_kind;  // "simulated" | "executed"
  double predicted_step_s = 0, measured_step_s = 0;
  std::vector<double> measured_steps_s;                // each measured step: how much reality itself varies
  std::vector<ComparedPart> breakdown;                 // compute, exposed communication by axis, bubble, other
  std::vector<ComparedPart> phases, axes, kinds;       // the largest difference first
  std::vector<ComparedOp> operations;                  // idem
  std::int64_t only_predicted = 0, only_measured = 0;  // operations of one side alone
  double median_error = 0, p90_error = 0;              // of |predicted - measured| / measured over the operations
};

// (predicted - measured) / measured; 0 when both are 0, infinite when only the measured one is.
double error_of(double predicted, double measured);

// Each argument is a folder that write_results() filled, or the report.json in one. Throws ConfigError when one cannot
// be read, the scenarios differ, or they share no operation.
Comparison compare(const std::filesystem::path& predicted, const std::filesystem::path& measured);

std::string to_json(const Comparison&);                                         // "trainwire.comparison/1"
std::string to_text(const Comparison&);                                         // one screen for a person
void write_comparison(const std::filesystem::path& folder, const Comparison&);  // comparison.json, comparison.csv

}  // namespace trainwire
