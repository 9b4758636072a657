// Plan + Topology -> Timeline, by SimGrid: compute and link contention event by event.
#pragma once
#include <string>

#include "sim/plan/plan.h"
#include "sim/result/timeline.h"
#include "sim/scenario/scenario.h"

namespace trainwire {

struct SimulateOptions {
  bool fold = true;             // one representative for ranks that nothing tells apart
  std::string solver = "auto";  // "auto" | "simgrid" (its own solver) | "maxmin" (ours, as a SimGrid model)
};

// Throws std::runtime_error saying who waits for whom when the plan cannot finish.
Timeline simulate(const Scenario&, const Plan&, const SimulateOptions& = {});

}  // namespace trainwire
