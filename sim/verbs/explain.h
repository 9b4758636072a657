// What `explain` says about a plan, as values: printed as text or as JSON.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/result/report.h"
#include "sim/scenario/scenario.h"

namespace trainwire {

struct AxisExplained {
  Axis axis = Axis::tensor;
  int degree = 1, groups = 1;
  std::vector<Rank> first_group;
  int nodes = 1;                // hosts that the first group touches
  std::int64_t operations = 0;  // a step, of the busiest rank; sends and receives are two
  double bytes = 0;             // payload a step, of the busiest rank
};

struct ProgramExplained {
  std::string role;
  int ranks = 0;
  std::map<std::string, std::int64_t> operations;  // by phase
};

struct Explained {
  std::vector<AxisExplained> axes;  // innermost first
  std::vector<ProgramExplained> programs;
  std::vector<StageMemory> memory;
  double capacity_bytes = 0;  // smallest device; 0: unknown
  std::int64_t parameters = 0;
  std::int64_t micro_batches = 1;
  std::vector<std::string> warnings;
};

Explained explained(const Scenario&, const Plan&);
std::string to_text(const Scenario&, const Explained&);
std::string to_json(const Scenario&, const Explained&);
std::string operations_text(const Plan&);  // every operation of every program

}  // namespace trainwire
