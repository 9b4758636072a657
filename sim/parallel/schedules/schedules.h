// Pipeline schedules: the order in which a stage runs the forward and backward passes of its micro-batches.
#pragma once
#include <vector>

#include "sim/parallel/draft.h"

namespace trainwire {

// A row of the table. `turns` of one stage; `in_flight`: the most micro-batches whose activations a stage holds.
struct ScheduleRule {
  PipelineSchedule kind;
  const char* name;
  std::vector<Turn> (*turns)(int stage, int stages, int micro_batches);
  int (*in_flight)(int stage, int stages, int micro_batches);
};
const std::vector<ScheduleRule>& schedules();
const ScheduleRule* find_schedule(PipelineSchedule);

std::vector<Turn> gpipe_turns(int stage, int stages, int micro_batches);
int gpipe_in_flight(int stage, int stages, int micro_batches);
std::vector<Turn> one_f_one_b_turns(int stage, int stages, int micro_batches);
int one_f_one_b_in_flight(int stage, int stages, int micro_batches);

}  // namespace trainwire
