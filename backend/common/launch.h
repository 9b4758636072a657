// Starting the ranks of a run.
#pragma once
#include <string>
#include <vector>

namespace trainwire::backend {

// Starts `mpirun -n world_size` of this very program with these arguments (without its name) when it was not started
// under mpirun/srun, and returns that run's exit status; -1 when this process is a rank already (or world size is 1).
int launch_ranks(int world_size, const std::vector<std::string>& arguments);

bool is_rank();    // started under mpirun or srun
int world_rank();  // 0 when not under MPI

}  // namespace trainwire::backend
