// What ranks cost each other on this machine: messages, reductions, shared cores.
#pragma once
#include <mpi.h>

#include "backend/calibrate/kernels.h"

namespace trainwire::cpu {

struct RankMeasurements {
  Curve message;         // seconds one way by bytes, between two ranks that wait for it
  Curve all_reduce;      // seconds by bytes, two ranks that wait for it
  Curve all_reduce_4;    // four ranks
  double latency = 0;    // of one message, fitted to the all-reduces
  double bandwidth = 0;  // bytes a second through the memory that all ranks share, fitted to the same
  double operation_overhead = 0;
  double core_sharing = 1;            // compute time of two ranks at once over one alone
  double communication_slowdown = 0;  // share of a core that a running all-reduce takes from computing
};

// Collective over the four ranks of `world`; complete on rank 0.
RankMeasurements measure_ranks(MPI_Comm world, bool quick, Spreads& spreads);

// Waits for rank 0 without using a core, as ranks do that take no part.
void wait_quietly(MPI_Comm world);
void wake_others(MPI_Comm world);

}  // namespace trainwire::cpu
