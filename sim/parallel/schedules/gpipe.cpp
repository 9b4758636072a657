// GPipe (Huang et al. 2019): all forward passes, then all backward passes. Bubble of p stages and m micro-batches of
// equal cost: (p-1)/(m+p-1) of the step. Activations of all m micro-batches are held.
#include "sim/parallel/schedules/schedules.h"

namespace trainwire {

std::vector<Turn> gpipe_turns(int /*stage*/, int /*stages*/, int micro_batches) {
  std::vector<Turn> turns;
  for (const bool forward : {true, false})
    for (int m = 0; m < micro_batches; ++m) turns.push_back({forward, m});
  return turns;
}

int gpipe_in_flight(int /*stage*/, int /*stages*/, int micro_batches) { return micro_batches; }

}  // namespace trainwire
