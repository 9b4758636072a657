// Recomputed activations are the same activations: training is as without.
#include "tests/cpu/ranks/equal.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

// The one rank that all are compared with keeps its activations.
template <Recompute how>
void recompute(Scenario& s) {
  if (s.mesh.size() > 1) s.training.recompute = how;
}

}  // namespace

TEST_CASE("recomputation changes nothing of what is trained") {
  const std::vector<Degrees> all{{2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 2, 2}, {1, 2, 4}};
  for (const std::string& model : {tiny_gpt(), tiny_llama()}) {
    check_equal(model, all, {"full", recompute<Recompute::full>});
    check_equal(model, {{1, 2, 1}, {2, 2, 2}}, {"selective", recompute<Recompute::selective>});
  }
  check_equal(tiny_mlp(), {{2, 1, 1}, {2, 2, 2}}, {"full", recompute<Recompute::full>});
}

TEST_CASE("recomputation of some blocks trains alike under every schedule") {
  check_equal(tiny_gpt(), {{2, 2, 2}, {1, 1, 4}}, {"zero-bubble, every second block", [](Scenario& s) {
                                                     recompute<Recompute::full>(s);
                                                     s.training.recompute_every = 2;
                                                     s.strategy.pipeline.schedule = PipelineSchedule::zero_bubble;
                                                   }});
  check_equal(tiny_gpt(), {{2, 2, 2}, {1, 1, 2}}, {"interleaved, first block of a chunk", [](Scenario& s) {
                                                     recompute<Recompute::full>(s);
                                                     s.training.recompute_blocks = 1;
                                                     s.strategy.pipeline.schedule = PipelineSchedule::interleaved;
                                                     s.strategy.pipeline.interleave = 2;
                                                   }});
}
