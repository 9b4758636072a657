// Joins a predicted and a measured timeline on op_id and sums up where they differ.
#include "sim/result/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "sim/config/problems.h"
#include "sim/result/read.h"

namespace trainwire {
namespace {

[[noreturn]] void fail(const ResultFolder& predicted, const ResultFolder& measured, const std::string& problem,
                       const std::string& fix) {
  throw ConfigError({Problem{{predicted.folder.string(), 0},
                             "",
                             "",
                             "cannot be compared with " + measured.folder.string() + ": " + problem,
                             fix}});
}

double difference(double predicted, double measured) { return std::abs(predicted - measured); }

template <class Row>
void worst_first(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return difference(a.predicted_s, a.measured_s) > difference(b.predicted_s, b.measured_s);
  });
}

// Sums over the operations that `key` gives one name, a rank; an empty name leaves the operation out.
template <class Key>
std::vector<ComparedPart> sums(const std::vector<ComparedOp>& operations, double ranks, Key key) {
  std::map<std::string, ComparedPart> parts;
  for (const auto& op : operations) {
    const std::string name = key(op);
    if (name.empty()) continue;
    ComparedPart& part = parts[name];
    part.name = name;
    ++part.operations;
    part.predicted_s += op.predicted_s / ranks;
    part.measured_s += op.measured_s / ranks;
  }
  std::vector<ComparedPart> result;
  for (auto& [name, part] : parts) result.push_back(std::move(part));
  worst_first(result);
  return result;
}

void join(ResultFolder& predicted, ResultFolder& measured, Comparison& result) {
  std::unordered_map<std::string, const TimelineRow*> by_id;
  by_id.reserve(measured.rows.size());
  for (const auto& row : measured.rows) by_id.emplace(row.op_id, &row);
  for (auto& row : predicted.rows) {
    const auto found = by_id.find(row.op_id);
    if (found == by_id.end()) continue;
    const TimelineRow& other = *found->second;
    if (row.rank != other.rank || row.kind != other.kind || row.name != other.name)
      fail(predicted, measured,
           "operation " + row.op_id + " is \"" + row.name + "\" in one and \"" + other.name + "\" in the other",
           "Run simulate and execute again with the same scenario and the same --set.");
    result.operations.push_back({std::move(row.op_id), row.rank, std::move(row.stream), std::move(row.phase),
                                 std::move(row.axis), std::move(row.kind), std::move(row.name), row.end_s - row.start_s,
                                 other.end_s - other.start_s});
  }
  const auto common = static_cast<std::int64_t>(result.operations.size());
  result.only_predicted = static_cast<std::int64_t>(predicted.rows.size()) - common;
  result.only_measured = static_cast<std::int64_t>(measured.rows.size()) - common;
}

std::vector<ComparedPart> join_breakdowns(const ResultFolder& predicted, const ResultFolder& measured) {
  std::vector<ComparedPart> parts;
  for (const auto& [name, seconds] : predicted.breakdown) parts.push_back({name, 0, seconds, 0});
  for (const auto& [name, seconds] : measured.breakdown) {
    const auto same = [&](const ComparedPart& part) { return part.name == name; };
    const auto found = std::find_if(parts.begin(), parts.end(), same);
    if (found != parts.end())
      found->measured_s = seconds;
    else
      parts.push_back({name, 0, 0, seconds});
  }
  return parts;
}

// The error that `share` of the operations stay below. Operations that took no time at all say nothing.
void measure_spread(Comparison& result) {
  std::vector<double> errors;
  for (const auto& op : result.operations)
    if (op.measured_s > 0) errors.push_back(std::abs(error_of(op.predicted_s, op.measured_s)));
  if (errors.empty()) return;
  std::sort(errors.begin(), errors.end());
  const auto quantile = [&](double share) {
    return errors[static_cast<std::size_t>(share * static_cast<double>(errors.size() - 1) + 0.5)];
  };
  result.median_error = quantile(0.5);
  result.p90_error = quantile(0.9);
}

}  // namespace

double error_of(double predicted, double measured) {
  if (measured == 0) return predicted == 0 ? 0 : std::numeric_limits<double>::infinity();
  return (predicted - measured) / measured;
}

Comparison compare(const std::filesystem::path& predicted_path, const std::filesystem::path& measured_path) {
  ResultFolder predicted = read_results(predicted_path), measured = read_results(measured_path);
  if (predicted.scenario != measured.scenario)
    fail(predicted, measured, "the scenarios differ (" + predicted.scenario + "; " + measured.scenario + ")",
         "Give two folders of one scenario.");
  Comparison result;
  result.scenario = predicted.scenario;
  result.predicted_kind = predicted.kind;
  result.measured_kind = measured.kind;
  result.predicted_step_s = predicted.step_time_s;
  result.measured_step_s = measured.step_time_s;
  result.measured_steps_s = measured.step_times_s;
  result.breakdown = join_breakdowns(predicted, measured);
  join(predicted, measured, result);
  if (result.operations.empty())
    fail(predicted, measured, "they have no operation in common (op_id)",
         "Run simulate and execute again with the same scenario and the same --set.");
  std::set<std::int32_t> ranks;
  for (const auto& op : result.operations) ranks.insert(op.rank);
  const auto count = static_cast<double>(ranks.size());
  result.phases = sums(result.operations, count, [](const ComparedOp& op) { return op.phase; });
  result.axes = sums(result.operations, count, [](const ComparedOp& op) { return op.axis; });
  result.kinds = sums(result.operations, count,
                      [](const ComparedOp& op) { return op.kind + " " + (op.axis.empty() ? op.phase : op.axis); });
  worst_first(result.operations);
  measure_spread(result);
  return result;
}

}  // namespace trainwire
