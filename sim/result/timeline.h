// What happened when: one span an operation and rank, from a simulation or a real run.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/topology/topology.h"

namespace trainwire {

struct Span { double start_s = 0, end_s = 0; };

struct RankTimeline {
  Rank rank = 0;
  std::vector<Span> spans;  // by OpId of the rank's program. A communication's start: when the last member was ready
};

struct LinkUse {
  LinkId link = -1;
  double bytes = 0, busy_s = 0;  // over the step; busy: at least one transfer under way
  std::int32_t copies = 1;       // links that behave like this one (folded simulation)
};

struct Timeline {
  std::string kind;      // "simulated" | "executed"
  std::string executor;  // "simgrid" | "cpu" | "cuda"
  double step_time_s = 0;
  std::vector<RankTimeline> ranks;            // one a simulated class of ranks, or one a rank
  std::vector<std::int32_t> timeline_of;      // rank -> index into ranks
  std::vector<LinkUse> links;                 // simulated only
  std::int64_t activities = 0;                // of the simulator
  // executed only
  std::vector<double> step_times_s;           // each measured step; step_time_s and the spans are the median step's
  std::vector<double> loss;                   // mean over the tokens of the step, each step
  double parameters_checksum = 0;             // sum over all parameters of p² after the last step
  std::vector<std::string> notes;
};

}  // namespace trainwire
