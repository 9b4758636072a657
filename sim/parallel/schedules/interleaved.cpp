// Interleaved 1F1B (Narayanan et al. 2021, §2.2; Megatron-LM's forward_backward_pipelining_with_interleaving): every
// stage holds v chunks of the model; passes go by groups of p micro-batches, chunk after chunk. Bubble of equal costs:
// (p-1)/(v·m), for v times the messages. In flight: the warm-up and one more.
#include <algorithm>

#include "sim/parallel/schedules/schedules.h"

namespace trainwire {
namespace {

// The k-th pass of a stage; backward passes take the chunks from the last to the first.
Turn pass(const PipelineShape& shape, TurnKind kind, int k) {
  const int p = shape.stages, v = shape.chunks, group = k / (p * v);
  const int chunk = k % (p * v) / p;
  return {kind, group * p + k % p, kind == TurnKind::forward ? chunk : v - 1 - chunk};
}

int warmup_of(const PipelineShape& shape, int stage) {
  const int ahead = shape.stages - 1 - stage;
  const int wanted = shape.chunks == 1 ? ahead : 2 * ahead + (shape.chunks - 1) * shape.stages;
  return std::min(wanted, shape.micro_batches * shape.chunks);
}

}  // namespace

Turns interleaved_turns(const PipelineShape& shape, int stage) {
  const int total = shape.micro_batches * shape.chunks, warmup = warmup_of(shape, stage);
  Turns turns;
  for (int k = 0; k < warmup; ++k) turns.push_back(pass(shape, TurnKind::forward, k));
  for (int k = warmup; k < total; ++k) {
    turns.push_back(pass(shape, TurnKind::forward, k));
    turns.push_back(pass(shape, TurnKind::backward, k - warmup));
  }
  for (int k = total - warmup; k < total; ++k) turns.push_back(pass(shape, TurnKind::backward, k));
  return turns;
}

int interleaved_in_flight(const PipelineShape& shape, int stage) {
  return std::min(warmup_of(shape, stage) + 1, shape.micro_batches * shape.chunks);
}

}  // namespace trainwire
