// GPipe (Huang et al. 2019): all forward passes, then all backward passes. Bubble of p stages and m micro-batches of
// equal cost: (p-1)/m of the time without one. Activations of all m micro-batches are held.
#include "sim/parallel/schedules/schedules.h"

namespace trainwire {

Turns gpipe_turns(const PipelineShape& shape, int /*stage*/) {
  Turns turns;
  for (const TurnKind kind : {TurnKind::forward, TurnKind::backward})
    for (int m = 0; m < shape.micro_batches; ++m) turns.push_back({kind, m});
  return turns;
}

int gpipe_in_flight(const PipelineShape& shape, int /*stage*/) { return shape.micro_batches; }

}  // namespace trainwire
