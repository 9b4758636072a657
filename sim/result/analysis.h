// What measure() is made of: the parts of a step, its critical path, and how many ranks a timeline stands for.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/result/report.h"

namespace trainwire {

// How many ranks each entry of Timeline::ranks stands for.
std::vector<std::int64_t> ranks_per_timeline(const Timeline&);

// Mean over ranks of where the time of a step goes, seen from the compute stream. The parts add up to step_time_s:
// computing; else a communication of the rank under way (exposed, by axis); else waiting for another pipeline stage
// (bubble); else other.
Breakdown breakdown(const Plan&, const Timeline&);

// Shares of the step along the chain of operations that determined its end: "compute: linear",
// "communication: tensor on nvlink", "wait". They add up to 1.
std::vector<BoundBy> critical_path(const Scenario&, const Plan&, const Timeline&);

}  // namespace trainwire
