// Runs a plan for real on CPUs: one process a rank, Eigen for the mathematics, MPI for the messages.
#pragma once
#include <string>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/result/timeline.h"
#include "sim/scenario/scenario.h"

namespace trainwire::cpu {

// Starts `mpirun -n world_size` of this very program with these arguments (without its name) when it was not started
// under mpirun/srun, and returns that run's exit status; -1 when this process is a rank already (or world size is 1).
int launch_ranks(int world_size, const std::vector<std::string>& arguments);

// Throws ConfigError where this backend cannot run the scenario. Call before launch_ranks, so that it is said once.
void check_executable(const Scenario&);

struct ExecuteOptions {
  int steps = 5, warmup = 1;
  bool gather_parameters = false;  // for tests: Result::parameters
};

struct Result {
  Timeline timeline;                           // complete on rank 0, empty elsewhere
  std::vector<std::vector<float>> parameters;  // by Plan::parameters, whole, on rank 0 where asked for
};

// Collective over all ranks. Throws std::runtime_error naming rank and operation; every other rank ends too.
Result execute(const Scenario&, const Plan&, const ExecuteOptions&);

bool is_rank();    // started under mpirun or srun
int world_rank();  // 0 when not under MPI

}  // namespace trainwire::cpu
