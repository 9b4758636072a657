// ZB-H1 (Qi et al. 2023, "Zero bubble pipeline parallelism", §3.1): 1F1B with the backward pass split; a stage puts the
// weight gradients of `stage` micro-batches off, so that the next input gradient leaves early and the cool-down has
// something to fill it. Bubble: (p-1)·(F + B - W), with B the input gradients and W the weights'. Every stage holds p
// micro-batches (of those whose input gradient is done, what W needs), which is 1F1B's peak.
#include <algorithm>

#include "sim/parallel/schedules/schedules.h"

namespace trainwire {

Turns zero_bubble_turns(const PipelineShape& shape, int stage) {
  const int m = shape.micro_batches, warmup = std::min(shape.stages - 1 - stage, m);
  Turns turns;
  for (int i = 0; i < warmup; ++i) turns.push_back({TurnKind::forward, i});
  for (int b = 0; b < m; ++b) {
    if (warmup + b < m) turns.push_back({TurnKind::forward, warmup + b});
    turns.push_back({TurnKind::input_gradient, b});
    if (b >= stage) turns.push_back({TurnKind::weight_gradient, b - stage});
  }
  for (int w = std::max(0, m - stage); w < m; ++w) turns.push_back({TurnKind::weight_gradient, w});
  return turns;
}

int zero_bubble_in_flight(const PipelineShape& shape, int /*stage*/) {
  return std::min(shape.stages, shape.micro_batches);
}

}  // namespace trainwire
