// Runs a plan for real on GPUs: one process a GPU, CUDA and NCCL from the plug-in, MPI to get started and to gather.
#pragma once
#include "backend/common/launch.h"
#include "backend/common/results.h"
#include "backend/cuda/device.h"
#include "sim/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace trainwire::cuda {

// Throws ConfigError where this backend cannot run the scenario. Call before launch_ranks, so that it is said once.
void check_executable(const Scenario&);

// What of the plan language this backend does not have yet and the scenario needs, one sentence each.
std::vector<std::string> missing_parts(const Scenario&);

// Collective over all ranks. Throws std::runtime_error naming rank and operation; every other rank ends too.
Result execute(const Scenario&, const Plan&, const ExecuteOptions&);

// On a given device and the ranks of a communicator (MPI_COMM_NULL: one rank without MPI).
Result execute_on(MPI_Comm comm, Device& device, const Scenario&, const Plan&, const ExecuteOptions&);

}  // namespace trainwire::cuda
