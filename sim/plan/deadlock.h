// Whether a plan can finish: collectives and transfers in an order that all ranks taking part agree on.
#pragma once
#include <string>
#include <vector>

#include "sim/plan/plan.h"

namespace trainwire {

// Runs the plan without durations, one rank a program: streams in order, a communication when all its members have come
// to it. Empty, or one line: a cycle of who waits for whom. Ranks of one program meet themselves at once, which is
// exact where they differ by nothing but their coordinates.
std::vector<std::string> find_deadlock(const Plan&);

}  // namespace trainwire
