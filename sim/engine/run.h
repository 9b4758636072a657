// The simulation itself: operations start as soon as what they wait for has ended, and everything that takes time is
// a timer or a transfer of Fluid. Communication starts when all that take part are at it.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/engine/compile.h"
#include "sim/engine/domain.h"
#include "sim/engine/fluid.h"
#include "sim/result/timeline.h"

namespace trainwire {

// Operation `op` of the rank with index `rank` in Network::ranks.
struct Instance {
  std::int32_t rank = 0;
  OpId op = 0;
};

// An operation of several ranks, from the first one's arrival to the end.
struct Meeting {
  std::int32_t group = 0, transfer = 0;
  std::uint32_t tag = 0;
  std::vector<Instance> present;
};

class Run {
 public:
  Run(const Network& network, Fluid& fluid);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Throws std::runtime_error when not everything ends, std::logic_error when ranks disagree about a communication.
  Timeline run();

 private:
  struct RankState {
    std::vector<std::uint32_t> waits;  // as CompiledProgram::waits, counted down
    std::vector<Span> spans;           // end < 0: has not ended
    double host_late_s = 0;            // how much later than SimHost::launched_s the host is
  };
  struct LinkState {
    int transfers = 0;  // under way
    double since = 0, busy_s = 0, bytes = 0;
  };

  const SimRank& rank_of(Instance i) const { return network_.ranks[static_cast<std::size_t>(i.rank)]; }
  const CompiledProgram& program_of(Instance i) const {
    return network_.programs[static_cast<std::size_t>(rank_of(i).program)];
  }
  Span& span_of(Instance i);

  double launched(Instance operation) const;  // when its host has launched it; 0: hosts take no time
  void settle();  // starts what is ready, and what that makes ready, at this instant
  void begin(Instance piece);
  void end(Instance last);

  void launch(Instance piece);  // its host has launched it
  void compute(Instance piece);
  void end_compute(Instance piece, double start, const std::vector<double>& seconds);

  void arrive(Instance communication);
  bool agrees(const Meeting& meeting, Instance communication);
  void start(std::size_t meeting);
  void start_transfer(std::size_t meeting);
  void end_transfer(std::size_t meeting);
  void end_meeting(std::size_t meeting);
  void occupy(const SimGroup& group, double sign);

  Timeline result() const;
  std::vector<LinkUse> link_uses() const;

  const Network& network_;
  Fluid& fluid_;
  std::vector<RankState> ranks_;
  std::vector<Domain> domains_;
  std::vector<std::int32_t> domain_index_;  // Network::domains -> domains_, -1: not contended
  std::vector<std::int32_t> changed_domains_;
  std::vector<Route> compute_routes_;  // by rank
  std::vector<LinkState> links_;
  std::vector<std::vector<Route>> routes_;  // by group and route: over links of fluid_
  std::deque<Instance> ready_;
  std::deque<Meeting> meetings_;
  std::vector<std::size_t> free_meetings_;
  std::vector<std::vector<std::size_t>> open_;  // by group: meetings that wait for somebody
  std::int64_t activities_ = 0;
  std::size_t left_ = 0;  // operations that have not ended
  std::string disagreement_;
};

// Ten lines at most: which rank waits with which operation for whom, who does what. For a plan that cannot finish.
struct Stuck {
  const Network& network;
  std::vector<const std::vector<Span>*> spans;  // by rank; end < 0: has not ended
  std::vector<const std::vector<std::uint32_t>*> waits;
  std::vector<const Meeting*> open;
};
std::string who_waits(const Stuck&);

}  // namespace trainwire
