// Expert parallelism trains like one rank: experts are shared out, their rows travel, gradients are summed where
// shared.
#include "tests/cpu/ranks/equal.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

constexpr Degrees over_experts(int expert, int data = 1, int tensor = 1, int pipeline = 1, int context = 1) {
  return {data, tensor, pipeline, context, expert};
}
const std::vector<Degrees> combinations{over_experts(2),
                                        over_experts(4),
                                        over_experts(8),
                                        over_experts(2, 2),
                                        over_experts(1, 2),
                                        over_experts(1, 1, 2),
                                        over_experts(2, 1, 2),
                                        over_experts(2, 1, 1, 2),
                                        over_experts(2, 2, 2),
                                        over_experts(1, 1, 1, 1, 2),
                                        over_experts(2, 1, 1, 1, 2),
                                        over_experts(2, 2, 1, 1, 2)};

}  // namespace

TEST_CASE("a mixture of experts trains alike on one rank and on expert ranks with any other axis") {
  check_equal(tiny_moe(), combinations, {"learnt routing", [](Scenario&) {}});
}

TEST_CASE("a mixture of experts trains alike where tensor ranks share the sequence") {
  check_equal(tiny_moe(), {over_experts(1, 1, 2), over_experts(2, 1, 2), over_experts(2, 2, 2)},
              {"sequence parallel", [](Scenario& s) { s.strategy.tensor.sequence_parallel = true; }});
}

TEST_CASE("routing drawn from an uneven distribution is the same however the work is shared out") {
  check_equal(tiny_moe(), {over_experts(2), over_experts(4), over_experts(2, 2), over_experts(2, 1, 2)},
              {"imbalance 2", [](Scenario& s) { s.strategy.expert.imbalance = 2; }});
}
