#include "sim/parallel/schedules/schedules.h"

namespace trainwire {

const std::vector<ScheduleRule>& schedules() {
  static const std::vector<ScheduleRule> table{
      {PipelineSchedule::gpipe, "gpipe", gpipe_turns, gpipe_in_flight},
      {PipelineSchedule::one_f_one_b, "1f1b", one_f_one_b_turns, one_f_one_b_in_flight},
      {PipelineSchedule::interleaved, "interleaved", interleaved_turns, interleaved_in_flight},
      {PipelineSchedule::zero_bubble, "zero-bubble", zero_bubble_turns, zero_bubble_in_flight},
      {PipelineSchedule::zero_bubble_v, "zero-bubble-v", zero_bubble_v_turns, zero_bubble_v_in_flight},
  };
  return table;
}

const ScheduleRule* find_schedule(PipelineSchedule kind) {
  for (const ScheduleRule& rule : schedules())
    if (rule.kind == kind) return &rule;
  return nullptr;
}

}  // namespace trainwire
