// With stages of equal cost and messages in no time, the whole simulation has the bubble of the schedule's closed form.
#include "sim/build/build.h"
#include "tests/engine/hand_made.h"
#include "tests/scenarios.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

// Microseconds that a block takes (the clock of SimGrid goes on from test to test: keep it exact): forward, the
// gradients of its inputs, those of its weights.
struct Costs {
  double forward = 1, input = 1, weight = 1;
};

bool is_one_weight(const Program& p, const Op& op) {
  return op.role == Role::weight_gradient && p.tensor(p.outputs(op)[0]).name.ends_with("attention.proj.weight");
}

// Two operations stand for a block's two passes, one weight gradient for all of them; everything else costs nothing.
double step_time(PipelineSchedule kind, int p, int v, int m, Costs costs) {
  const std::string model =
      "{family: transformer, layers: " + std::to_string(2 * p * v) + ", hidden: 16, heads: 2, vocab: 32, source: test}";
  Scenario s = make_scenario(model, {1, 1, p}, 2 * m);
  s.strategy.pipeline.schedule = kind;
  s.strategy.pipeline.interleave = v;
  const Plan plan = build_plan(s);
  Pricing pricing = hand_made::pricing();
  pricing.duration = [costs](const Program& program, const Op& op, const DeviceSpec&) {
    if (op.kind == OpKind::attention) return Seconds(1e-6 * (op.role == Role::forward ? costs.forward : costs.input));
    return Seconds(is_one_weight(program, op) ? 1e-6 * costs.weight : 0);
  };
  hand_made::Cluster cluster{1, p};
  cluster.latency_s = 0;
  cluster.device_bandwidth = 1e30;
  const Topology topology = cluster.topology();
  return simulate(World{plan, topology, s.placement, pricing}, {}).step_time_s * 1e6;
}

bool near(double a, double b) { return relative_error(a, b) < 1e-9; }

}  // namespace

TEST_CASE("the bubble of GPipe and 1F1B is (p-1)/m of the work, interleaved a v-th of that", "[pipeline]") {
  const Costs costs{1, 1, 1};
  const double block = 3;
  for (const int p : {2, 3, 4})
    for (const int m : {p, 2 * p, 4 * p}) {
      CAPTURE(p, m);
      const double work = 2 * block * m;  // two blocks a stage
      // Huang et al. 2019; Narayanan et al. 2021, section 2.2.
      CHECK(near(step_time(PipelineSchedule::gpipe, p, 1, m, costs), work * (1 + (p - 1.0) / m)));
      CHECK(near(step_time(PipelineSchedule::one_f_one_b, p, 1, m, costs), work * (1 + (p - 1.0) / m)));
      for (const int v : {2, 3}) {
        CAPTURE(v);
        CHECK(near(step_time(PipelineSchedule::interleaved, p, v, m, costs), v * work * (1 + (p - 1.0) / (v * m))));
      }
    }
}

TEST_CASE("the bubble of ZB-H1 is (p-1)·(F + B - W)", "[pipeline]") {
  for (const Costs costs : {Costs{1, 1, 1}, Costs{1, 2, 1}, Costs{2, 3, 1}})
    for (const int p : {2, 3, 4})
      for (const int m : {p, p + 1, 3 * p}) {
        CAPTURE(p, m, costs.forward, costs.input, costs.weight);
        const double work = 2 * m * (costs.forward + costs.input + costs.weight);
        // Qi et al. 2023, table 2.
        CHECK(near(step_time(PipelineSchedule::zero_bubble, p, 1, m, costs),
                   work + 2 * (p - 1) * (costs.forward + costs.input - costs.weight)));
      }
}

TEST_CASE("ZB-V with F = B = W has no bubble but the stages' different starts", "[pipeline]") {
  for (const int p : {2, 3, 4})
    for (const int m : {2 * p - 1, 2 * p, 4 * p}) {
      CAPTURE(p, m);
      const double work = 2 * 2 * 3 * m;  // two chunks of two blocks a stage
      CHECK(near(step_time(PipelineSchedule::zero_bubble_v, p, 2, m, {1, 1, 1}), work + 2 * (p - 1)));
    }
}
