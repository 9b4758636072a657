// 1F1B (PipeDream-flush; Narayanan et al. 2021, §2.2): p-1-stage forward passes to warm up, then one forward and one
// backward in turn. GPipe's bubble, but at most p-stage micro-batches are in flight.
#include <algorithm>

#include "sim/parallel/schedules/schedules.h"

namespace trainwire {

Turns one_f_one_b_turns(const PipelineShape& shape, int stage) {
  const int m = shape.micro_batches, warmup = std::min(shape.stages - 1 - stage, m);
  Turns turns;
  for (int i = 0; i < warmup; ++i) turns.push_back({TurnKind::forward, i});
  for (int i = warmup; i < m; ++i) {
    turns.push_back({TurnKind::forward, i});
    turns.push_back({TurnKind::backward, i - warmup});
  }
  for (int i = m - warmup; i < m; ++i) turns.push_back({TurnKind::backward, i});
  return turns;
}

int one_f_one_b_in_flight(const PipelineShape& shape, int stage) {
  return std::min(shape.stages - stage, shape.micro_batches);
}

}  // namespace trainwire
