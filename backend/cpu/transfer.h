// One communication operation as a state machine: the rounds of its algorithm's step list over MPI point to point.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/common/ranks.h"
#include "sim/collective/collective.h"
#include "sim/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace trainwire::cpu {

// The messages of one member, round by round.
struct Exchange {
  struct Message {
    int member, chunk;
    bool reduce;
  };
  struct Round {
    std::vector<Message> sends, receives;
  };
  int chunks = 1;
  std::vector<Round> rounds;
};
Exchange exchange_of(const StepList& steps, int member);

// What never changes from step to step. All data is fp32.
struct Transfer {
  OpKind kind;
  Reduction reduction;
  int member = 0, tag = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  const std::vector<Rank>* group = nullptr;
  const Exchange* exchange = nullptr;
  const float* input = nullptr;  // null: in place, or nothing to read
  float* data = nullptr;         // what the steps work on; null: a copy of the input
  float* output = nullptr;       // where the result goes at the end; null: it is in `data`
  std::int64_t elements = 0, input_elements = 0;
  // How many pieces a member's part of the input or output has there: as many as the dimensions before the divided one.
  std::int64_t input_pieces = 1, output_pieces = 1;
  Routed routed{};  // all_to_all: parts of which only the used rows travel
  bool accumulate = false;  // reduce_scatter: add to the output
};

// Prepares the transfers of a rank's program; owns what they share.
class Transfers {
 public:
  // `pointers`: address of each operand of the program, in the order of Program::operands.
  Transfers(const Scenario& scenario, const Plan& plan, const Ranks& ranks, std::span<void* const> pointers);
  const Transfer& of(OpId op) const { return by_op_[static_cast<std::size_t>(op)]; }

 private:
  Transfer prepare(const Scenario& scenario, const Plan& plan, const Ranks& ranks, std::span<void* const> pointers,
                   const Op& op);
  const Exchange& exchange(OpKind kind, const CollectiveAlgorithm& algorithm, int members, int member);

  std::vector<Transfer> by_op_;
  std::map<Axis, std::vector<Rank>> groups_;
  std::map<std::pair<std::string, OpKind>, std::map<std::pair<int, int>, Exchange>> exchanges_;
};

// A transfer under way: start, then advance until it says done. One a stream at a time, so that memory is reused.
class TransferRun {
 public:
  void start(const Transfer& transfer);
  bool advance();  // true: done. Sets moved() when a round ended.
  bool moved() const { return moved_; }
  std::string waits_for() const;  // "round 2 of 6, rank 3"

 private:
  void post_round();
  void finish_round();
  void finish();
  float* chunk(float* base, int index, std::int64_t& count) const;
  void start_all_to_all();
  std::int64_t used(const float* part, std::int64_t count) const;

  const Transfer* transfer_ = nullptr;
  float* data_ = nullptr;
  std::size_t round_ = 0;
  bool moved_ = false;
  std::vector<MPI_Request> requests_;
  std::vector<Rank> partners_;  // of the requests
  float* incoming_ = nullptr;   // all_to_all: what arrives
  std::vector<float> received_, copy_, arrived_;
};

}  // namespace trainwire::cpu
