// One rank at work: a thread computes, the calling thread makes every MPI call and moves all communication streams on.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/arena.h"
#include "backend/common/board.h"
#include "backend/cpu/execute.h"
#include "backend/common/ranks.h"
#include "backend/cpu/operation.h"
#include "backend/cpu/transfer.h"

namespace trainwire::cpu {

// Like execute(), on the ranks of a communicator (MPI_COMM_NULL: one rank without MPI).
Result execute_on(MPI_Comm comm, const Scenario& scenario, const Plan& plan, const ExecuteOptions& options);

class RankRun {
 public:
  RankRun(const Scenario& scenario, const Plan& plan, const Ranks& ranks, const Arena& arena);

  // Runs every operation once. An operation that fails throws where the run has one rank, else ends all ranks.
  void step(std::int64_t step_number);

  const std::vector<SpanNs>& spans() const { return spans_; }  // of the last step, by OpId
  std::int64_t started_ns() const { return started_; }
  double loss() const { return loss_; }  // of the last step: the micro-batches of this rank

 private:
  struct Wait {
    Stream stream;
    std::uint32_t count;  // operations of the stream that must be done
  };
  struct Lane {  // a communication stream in this step
    std::vector<OpId> ops;
    std::size_t next = 0;
    bool active = false;
    TransferRun run;
  };

  void compute();
  void compute_one(OpId id);
  void wait(const Wait& w);
  void communicate();
  bool advance(Lane& lane);
  bool ready(OpId id) const;
  void pause(int idle_polls, std::uint32_t events_seen, bool in_flight);
  void check_timeout();
  void fail_on_purpose(OpId id) const;
  std::atomic<std::uint32_t>& done(Stream s) { return done_[static_cast<std::size_t>(s)]; }

  const Plan& plan_;
  const Program& program_;
  const Ranks& ranks_;
  std::vector<void*> pointers_;  // by Program::operands
  Transfers transfers_;
  OperationContext<float> context_;
  std::vector<OpId> compute_ops_;
  std::vector<std::uint32_t> first_wait_;  // by OpId, into waits_; one more at the end
  std::vector<Wait> waits_;
  std::vector<bool> awaited_;  // by OpId: an operation of another stream waits for it
  std::array<Lane, stream_count> lanes_;
  std::vector<SpanNs> spans_;
  std::int64_t started_ = 0, last_progress_ = 0;
  double loss_ = 0;
  Board board_;
  std::string purpose_;  // TRAINWIRE_FAIL, for tests: "RANK:OP" throws there, ":kill" and ":stop" after it die or halt

  std::array<std::atomic<std::uint32_t>, stream_count> done_{};
  std::atomic<std::uint32_t> events_{0};  // of the computing thread: something that others may wait for
  std::atomic<bool> compute_waits_{false}, failed_{false};
  std::string error_;
};

}  // namespace trainwire::cpu
