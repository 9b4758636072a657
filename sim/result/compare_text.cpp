// A comparison as files and as one screen of text.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/result/compare.h"
#include "sim/result/files.h"
#include "sim/units/units.h"

namespace trainwire {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t operations_in_json = 50;  // all of them are in comparison.csv

// JSON has no infinity: null where nothing was measured.
Json percent(double predicted, double measured) {
  const double error = 100 * error_of(predicted, measured);
  return std::isfinite(error) ? Json(error) : Json();
}

Json parts_json(const std::vector<ComparedPart>& parts) {
  Json rows = Json::array();
  for (const auto& part : parts)
    rows.push_back({{"name", part.name},
                    {"operations", part.operations},
                    {"predicted_s", part.predicted_s},
                    {"measured_s", part.measured_s},
                    {"error_percent", percent(part.predicted_s, part.measured_s)}});
  return rows;
}

Json operations_json(const std::vector<ComparedOp>& operations) {
  Json rows = Json::array();
  for (const auto& op : operations) {
    if (rows.size() == operations_in_json) break;
    rows.push_back({{"op_id", op.op_id},
                    {"name", op.name},
                    {"rank", op.rank},
                    {"predicted_s", op.predicted_s},
                    {"measured_s", op.measured_s},
                    {"error_percent", percent(op.predicted_s, op.measured_s)}});
  }
  return rows;
}

std::string percent_text(double predicted, double measured) {
  const double error = 100 * error_of(predicted, measured);
  if (!std::isfinite(error)) return "-";
  return std::abs(error) < 1000 ? fmt::format("{:+.1f} %", error) : fmt::format("{:+.0f} %", error);
}

std::string row(const std::string& name, double predicted, double measured) {
  return fmt::format("  {:<40} {:>12} {:>12} {:>10}\n", name, to_text(Seconds(predicted)), to_text(Seconds(measured)),
                     percent_text(predicted, measured));
}

void add_parts(std::string& text, const std::string& title, const std::vector<ComparedPart>& parts, std::size_t most) {
  text += title + "\n";
  for (std::size_t i = 0; i < std::min(most, parts.size()); ++i)
    if (parts[i].predicted_s > 0 || parts[i].measured_s > 0)
      text += row(parts[i].name, parts[i].predicted_s, parts[i].measured_s);
}

std::string shortened(const std::string& name, std::size_t most) {
  return name.size() <= most ? name : name.substr(0, most - 3) + "...";
}

}  // namespace

std::string to_json(const Comparison& c) {
  const Json json{{"schema", "trainwire.comparison/1"},
                  {"scenario", c.scenario},
                  {"predicted_kind", c.predicted_kind},
                  {"measured_kind", c.measured_kind},
                  {"step_time",
                   {{"predicted_s", c.predicted_step_s},
                    {"measured_s", c.measured_step_s},
                    {"error_percent", percent(c.predicted_step_s, c.measured_step_s)},
                    {"measured_steps_s", c.measured_steps_s}}},
                  {"breakdown", parts_json(c.breakdown)},
                  {"phases", parts_json(c.phases)},
                  {"axes", parts_json(c.axes)},
                  {"kinds", parts_json(c.kinds)},
                  {"operations_compared", c.operations.size()},
                  {"operations_only_predicted", c.only_predicted},
                  {"operations_only_measured", c.only_measured},
                  {"operation_error_percent", {{"median", 100 * c.median_error}, {"p90", 100 * c.p90_error}}},
                  {"worst_operations", operations_json(c.operations)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_text(const Comparison& c) {
  std::string text =
      fmt::format("{}\n  {:<40} {:>12} {:>12} {:>10}\n", c.scenario, "", "predicted", "measured", "error");
  text += row("step time", c.predicted_step_s, c.measured_step_s);
  if (c.measured_steps_s.size() > 1) {
    const auto [low, high] = std::minmax_element(c.measured_steps_s.begin(), c.measured_steps_s.end());
    text += fmt::format("  {:<40} {} measured steps, {} to {}\n", "", c.measured_steps_s.size(), to_text(Seconds(*low)),
                        to_text(Seconds(*high)));
  }
  add_parts(text, "the step's parts (mean over ranks)", c.breakdown, 12);
  add_parts(text, "operations by phase (a rank and step)", c.phases, 6);
  add_parts(text, "operations by kind, the largest difference first", c.kinds, 8);
  text += fmt::format(
      "single operations, the largest difference first ({} compared; error: median {:.1f} %, "
      "90 % stay below {:.1f} %)\n",
      c.operations.size(), 100 * c.median_error, 100 * c.p90_error);
  for (std::size_t i = 0; i < std::min<std::size_t>(5, c.operations.size()); ++i) {
    const auto& op = c.operations[i];
    text += row(shortened(fmt::format("{} rank {}", op.name, op.rank), 40), op.predicted_s, op.measured_s);
  }
  if (c.only_predicted + c.only_measured > 0)
    text += fmt::format("not compared: {} operations of the prediction alone, {} of the measurement alone\n",
                        c.only_predicted, c.only_measured);
  return text;
}

void write_comparison(const std::filesystem::path& folder, const Comparison& c) {
  const auto csv = [&](Sink& sink) {
    sink.print("op_id,rank,stream,phase,axis,kind,name,predicted_s,measured_s,error_s,error_percent\n");
    for (const auto& op : c.operations) {
      const double error = 100 * error_of(op.predicted_s, op.measured_s);
      sink.print("{},{},{},{},{},{},{},{:.9g},{:.9g},{:.9g},{}\n", op.op_id, op.rank, op.stream, op.phase, op.axis,
                 op.kind, csv_field(op.name), op.predicted_s, op.measured_s, op.predicted_s - op.measured_s,
                 std::isfinite(error) ? fmt::format("{:.4g}", error) : std::string());
    }
  };
  write_files(folder,
              {{"comparison.json", [&](Sink& sink) { sink.print("{}", to_json(c)); }}, {"comparison.csv", csv}});
}

}  // namespace trainwire
