// ZB-V (Qi et al. 2024, "Pipeline parallelism with controllable memory", §4; PyTorch's ScheduleZBVZeroBubble): two
// chunks a stage in a V, so that the first stage has the loss and backward passes start at once. With F = B = W and at
// least 2p - 1 micro-batches no stage idles between its first turn and its last. Every stage holds 2p passes of half a
// stage each: 1F1B's peak.
#include <algorithm>

#include "sim/parallel/schedules/schedules.h"

namespace trainwire {
namespace {

// Takes micro-batches in order; those beyond the last are left out.
class Stage {
 public:
  explicit Stage(int micro_batches) : micro_batches_(micro_batches) {}
  void forward(int chunk) { add(TurnKind::forward, chunk, forwards[chunk]++); }
  void input(int chunk) { add(TurnKind::input_gradient, chunk, inputs[chunk]++); }
  void weight(int chunk) { add(TurnKind::weight_gradient, chunk, weights[chunk]++); }
  void backward(int chunk) {
    input(chunk);
    weight(chunk);
  }
  Turns take() { return std::move(turns_); }

  int forwards[2] = {0, 0}, inputs[2] = {0, 0}, weights[2] = {0, 0};  // by chunk, how many so far

 private:
  void add(TurnKind kind, int chunk, int micro_batch) {
    if (micro_batch < micro_batches_) turns_.push_back({kind, micro_batch, chunk});
  }
  int micro_batches_;
  Turns turns_;
};

}  // namespace

Turns zero_bubble_v_turns(const PipelineShape& shape, int stage) {
  if (shape.chunks == 1) return zero_bubble_turns(shape, stage);
  const int p = shape.stages, m = std::max(2 * p - 1, shape.micro_batches);
  Stage s(shape.micro_batches);
  for (int i = 0; i < 2 * (p - stage) - 1; ++i) s.forward(0);
  for (int i = 0; i < stage; ++i) {
    s.forward(1);
    s.forward(0);
  }
  for (int i = 0; i < p - stage; ++i) {
    s.forward(1);
    s.backward(1);
  }
  while (s.forwards[1] < s.forwards[0] || s.forwards[0] < m) {
    if (s.forwards[0] < m) s.forward(0);
    s.backward(0);
    s.forward(1);
    s.backward(1);
  }
  for (int i = 0; i < stage; ++i) {
    s.input(0);
    s.input(1);
  }
  for (int i = 0; i < p - stage; ++i) s.backward(0);
  while (s.weights[1] < m) s.weight(1);
  while (s.weights[0] < m) s.weight(0);
  return s.take();
}

int zero_bubble_v_in_flight(const PipelineShape& shape, int stage) {
  if (shape.chunks == 1) return zero_bubble_in_flight(shape, stage);
  const int m = shape.micro_batches;
  return std::min({2 * shape.stages, m + stage + 1, 2 * m});
}

}  // namespace trainwire
