// Predictions against published measurements: tables become rows, rows get predictions, groups of rows statistics.
// A row that cannot be predicted stays, with its reason, and counts as a miss.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/score/csv.h"

namespace trainwire {

// A measured training step as a scenario, and what simple rules of thumb would know of it.
struct StepCase {
  std::string scenario;      // the scenario file that describes it; empty: it could not be described
  double flops_per_gpu = 0;  // model flops a GPU and step
  double bubble = 0;         // idle share of 1F1B, (p-1)/(m+p-1) (Narayanan et al. 2021, section 2.2)
};

struct ScoreRow {
  std::string id;
  std::vector<std::string> groups;  // by which it is summed up
  std::string alike;                // rows that differ in how they are split alone: what a ranking compares
  double measured_s = 0, predicted_s = 0;
  std::string reason;               // why there is no prediction; empty: there is one
  std::string note;                 // what the publisher says
  std::optional<StepCase> step;     // to be predicted by simulation
  double low_s = 0, high_s = 0;     // the 80 % interval; 0: none
  double error() const { return predicted_s / measured_s - 1; }
  bool predicted() const { return reason.empty(); }
};

struct ScoreTable {
  std::string name, kind;
  std::vector<ScoreRow> rows;
};

// A kind of table, told by its header. `read` fills in what needs no simulation. Adding one: a file, a row of kinds.cpp.
struct TableKind {
  const char* name;
  bool (*matches)(const Csv&);
  ScoreTable (*read)(const Csv&);
};
const std::vector<TableKind>& table_kinds();
ScoreTable read_table(const std::filesystem::path& file);  // throws ConfigError where no kind fits

// Simulates the rows with a step, `workers` at a time.
void predict_steps(std::vector<ScoreTable>&, int workers);
// Seconds of the step that a scenario describes. Throws what cannot be.
double simulate_step(const std::string& scenario, const std::string& name);

}  // namespace trainwire
