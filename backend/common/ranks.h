// The few calls of MPI that a run needs. One thread of a process makes all of them (MPI_THREAD_FUNNELED).
#pragma once
#include <mpi.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/plan/plan.h"

namespace trainwire {

// The ranks that run a plan, each knowing itself. Ends its communicators when it goes.
class Ranks {
 public:
  explicit Ranks(MPI_Comm comm);  // MPI_COMM_NULL: a run of one rank that needs no MPI
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int size() const { return size_; }
  Rank rank() const { return rank_; }
  // Operations on different axes may have equal tags: each axis has its own communicator.
  MPI_Comm axis(Axis a) const { return axes_[static_cast<std::size_t>(a)]; }

  // Collectives for set-up and the end. `what` names the place in the message when a rank does not come.
  void barrier(const std::string& what) const;
  std::vector<double> sum(std::vector<double> values) const;      // on every rank
  std::vector<double> maximum(std::vector<double> values) const;  // on every rank
  std::vector<double> minimum(std::vector<double> values) const;
  // Every rank's bytes, by rank, on rank 0; empty elsewhere.
  std::vector<std::vector<std::byte>> gather(const std::vector<std::byte>& mine) const;
  // Every rank's bytes, one after the other by rank, everywhere.
  std::vector<std::byte> all_gather(const std::vector<std::byte>& mine) const;

 private:
  std::vector<double> reduce(std::vector<double> values, MPI_Op op) const;

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::array<MPI_Comm, group_count> axes_{};
  int size_ = 1;
  Rank rank_ = 0;
};

// MPI_Init where nobody has called it, with MPI_Finalize at the end of the process.
void initialise_mpi();

// Which of the processes on this host this is, from 0; and the host's name.
int local_rank();
std::string host_name();

// Seconds without any progress after which a run is given up: 60, or TRAINWIRE_TIMEOUT_S.
double timeout_s();

// Nanoseconds of the host's monotonic clock, which all processes of a host share.
std::int64_t now_ns();

// Prints "rank 3: message" and ends every process of the run.
[[noreturn]] void abort_run(Rank rank, const std::string& message);

// Runs work that other ranks rely on: an exception here ends every process of the run, with its text. A ConfigError is
// thrown on: all ranks see it.
void all_or_none(const std::function<void()>& work);

void check(int code, const char* call);  // throws std::runtime_error with MPI's text

}  // namespace trainwire
