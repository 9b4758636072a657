// Pipeline schedules: the order in which a stage runs the forward and backward passes of its micro-batches.
#pragma once
#include <vector>

#include "sim/scenario/scenario.h"

namespace trainwire {

// A row of the table. `turns` of one stage; `in_flight`: the most passes forward (one a micro-batch and chunk) whose
// activations a stage holds because a part of their backward pass is still to come.
struct ScheduleRule {
  PipelineSchedule kind;
  const char* name;
  Turns (*turns)(const PipelineShape&, int stage);
  int (*in_flight)(const PipelineShape&, int stage);
};
const std::vector<ScheduleRule>& schedules();
const ScheduleRule* find_schedule(PipelineSchedule);

Turns gpipe_turns(const PipelineShape&, int stage);
int gpipe_in_flight(const PipelineShape&, int stage);
Turns one_f_one_b_turns(const PipelineShape&, int stage);
int one_f_one_b_in_flight(const PipelineShape&, int stage);
Turns interleaved_turns(const PipelineShape&, int stage);
int interleaved_in_flight(const PipelineShape&, int stage);
Turns zero_bubble_turns(const PipelineShape&, int stage);
int zero_bubble_in_flight(const PipelineShape&, int stage);
Turns zero_bubble_v_turns(const PipelineShape&, int stage);
int zero_bubble_v_in_flight(const PipelineShape&, int stage);

}  // namespace trainwire
