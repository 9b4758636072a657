// Shared by the tests that run on several ranks. Checks are made on rank 0, with CHECK alone: a test case that one rank
// leaves early would leave the others waiting.
#pragma once
#include <mpi.h>

#include "tests/test.h"

namespace trainwire::test {

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
inline int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// The first n ranks; MPI_COMM_NULL on the others.
class FirstRanks {
 public:
  explicit FirstRanks(int n) {
    MPI_Comm_split(MPI_COMM_WORLD, world_rank() < n ? 0 : MPI_UNDEFINED, world_rank(), &comm_);
  }
  ~FirstRanks() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  FirstRanks(const FirstRanks&) = delete;
  FirstRanks& operator=(const FirstRanks&) = delete;
  MPI_Comm comm() const { return comm_; }
  bool member() const { return comm_ != MPI_COMM_NULL; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace trainwire::test
