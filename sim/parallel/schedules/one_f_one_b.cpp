// 1F1B (PipeDream-flush; Narayanan et al. 2021, §2.2): p-1-stage forward passes to warm up, then one forward and one
// backward in turn. GPipe's bubble, but at most p-stage micro-batches are in flight.
#include <algorithm>

#include "sim/parallel/schedules/schedules.h"

namespace trainwire {

std::vector<Turn> one_f_one_b_turns(int stage, int stages, int micro_batches) {
  const int warmup = std::min(stages - 1 - stage, micro_batches);
  std::vector<Turn> turns;
  for (int m = 0; m < warmup; ++m) turns.push_back({true, m});
  for (int m = warmup; m < micro_batches; ++m) {
    turns.push_back({true, m});
    turns.push_back({false, m - warmup});
  }
  for (int m = micro_batches - warmup; m < micro_batches; ++m) turns.push_back({false, m});
  return turns;
}

int one_f_one_b_in_flight(int stage, int stages, int micro_batches) { return std::min(stages - stage, micro_batches); }

}  // namespace trainwire
