// Runs a plan for real on CPUs: one process a rank, Eigen for the mathematics, MPI for the messages.
#pragma once
#include "backend/common/launch.h"
#include "backend/common/results.h"
#include "sim/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace trainwire::cpu {

using backend::is_rank;
using backend::launch_ranks;
using backend::world_rank;
using trainwire::ExecuteOptions;
using trainwire::Result;

// Throws ConfigError where this backend cannot run the scenario. Call before launch_ranks, so that it is said once.
void check_executable(const Scenario&);

// Collective over all ranks. Throws std::runtime_error naming rank and operation; every other rank ends too.
Result execute(const Scenario&, const Plan&, const ExecuteOptions&);

}  // namespace trainwire::cpu
