// Where a row's error could come from: what each phase of the prediction takes, and what it would have to take.
#include <fmt/format.h>

#include "sim/build/build.h"
#include "sim/config/data_dir.h"
#include "sim/engine/simulate.h"
#include "sim/result/report.h"
#include "sim/score/write.h"

namespace trainwire {
namespace {

struct Phase {
  std::string name;
  double seconds;
};

std::vector<Phase> phases_of(const Report& report) {
  std::vector<Phase> phases{{"computing", report.breakdown.compute_s}};
  for (const auto& [axis, seconds] : report.breakdown.exposed_s)
    phases.push_back({fmt::format("exposed communication, {}", axis), seconds});
  phases.push_back({"pipeline bubble", report.breakdown.bubble_s});
  phases.push_back({"host and other waiting", report.breakdown.other_s});
  return phases;
}

}  // namespace

std::string explain_error(const ScoreRow& row) {
  if (!row.predicted()) return fmt::format("{}: no prediction: {}\n", row.id, row.reason);
  if (!row.step) return fmt::format("{}: not a training step, only its whole time is predicted\n", row.id);
  Problems problems;
  const std::filesystem::path file = data_dir() / "scenarios" / (row.id + ".yaml");
  const Value root = read_text(row.step->scenario, file.string(), problems);
  problems.throw_if_any();
  const Scenario scenario = load_scenario(root, file);
  const Plan plan = build_plan(scenario);
  const Report report = measure(scenario, plan, simulate(scenario, plan));
  const double off = row.measured_s - report.step_time_s;
  std::string text = fmt::format("{}: predicted {:.6g} s, measured {:.6g} s: {:+.1f} %, {:+.6g} s\n", row.id,
                                 report.step_time_s, row.measured_s,
                                 100 * (report.step_time_s / row.measured_s - 1), -off);
  text += fmt::format("  {:36}{:>12}{:>9}   {}\n", "phase (mean over ranks)", "s", "share %", "alone would explain it if");
  for (const Phase& p : phases_of(report)) {
    const double needed = p.seconds + off;
    const std::string change = p.seconds <= 1e-9 * report.step_time_s
                                   ? (off > 0 ? fmt::format("it took {:.4g} s", off) : "impossible")
                               : needed >= 0 ? fmt::format("it took {:.2f} times as long", needed / p.seconds)
                                             : "impossible: it is shorter than the error";
    text += fmt::format("  {:36}{:12.6g}{:9.1f}   {}\n", p.name, p.seconds, 100 * p.seconds / report.step_time_s, change);
  }
  if (!row.note.empty()) text += fmt::format("  the publisher says: {}\n", row.note);
  return text;
}

}  // namespace trainwire
