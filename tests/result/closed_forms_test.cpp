// Memory of a rank against closed forms of the literature.
#include <algorithm>

#include "sim/result/report.h"
#include "tests/combinations.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

// Bytes that stay for the whole step: what the curve has before the first operation.
double kept(const Plan& plan) {
  Timeline timeline;
  timeline.step_time_s = 1;
  timeline.ranks = {{0, std::vector<Span>(plan.programs[0].ops.size(), Span{0.5, 1})}};
  timeline.timeline_of = {0};
  return memory_curve(plan, timeline).front().bytes;
}

std::string gpt(int layers, int hidden) {
  return "{family: transformer, layers: " + std::to_string(layers) + ", hidden: " + std::to_string(hidden) +
         ", heads: 8, vocab: 256, positions: learned, max_sequence: 64, norm: layer_norm, activation: gelu, "
         "biases: true, tied: true, source: test}";
}

}  // namespace

// Rajbhandari et al. 2020 ("ZeRO"), sections 3.1 and 5: mixed-precision Adam keeps 2 bytes a parameter, 2 a gradient
// and K = 12 of states (fp32 copy, momentum, variance); stage by stage these are divided by the number of replicas N.
TEST_CASE("bytes a parameter are the ZeRO paper's (2 + 2 + K) by stage") {
  constexpr double K = 12;
  struct Row {
    Sharding sharding;
    double (*bytes)(double n);
  };
  const std::vector<Row> rows{{Sharding::none, [](double) { return 2 + 2 + K; }},
                              {Sharding::zero1, [](double n) { return 2 + 2 + K / n; }},
                              {Sharding::zero2, [](double n) { return 2 + (2 + K) / n; }},
                              {Sharding::zero3, [](double n) { return (2 + 2 + K) / n; }}};
  for (const Row& row : rows)
    for (const int n : {2, 4, 8}) {
      Scenario s = make_scenario(gpt(4, 128), {n, 1, 1}, 2 * n);
      s.training.precision = Precision::bf16;
      s.training.grad_dtype = DType::bf16;
      s.strategy.data.sharding = row.sharding;
      const double parameters = static_cast<double>(parameter_count(s.model));
      CAPTURE(static_cast<int>(row.sharding), n);
      CHECK(relative_error(kept(build_plan(s)), row.bytes(n) * parameters) < 1e-3);
    }
}

// PyTorch's FSDP with a bf16 mixed-precision policy and fp32 reduction: fp32 shards, their fp32 gradients, two moments.
TEST_CASE("FSDP keeps 16 bytes a parameter, shared out") {
  for (const int n : {2, 8}) {
    Scenario s = make_scenario(gpt(4, 128), {n, 1, 1}, 2 * n);
    s.training.precision = Precision::bf16;
    s.strategy.data.sharding = Sharding::fsdp;
    CHECK(relative_error(kept(build_plan(s)), 16.0 / n * static_cast<double>(parameter_count(s.model))) < 1e-3);
  }
}

// Korthikanti et al. 2022 ("Reducing activation recomputation"), section 4: a layer keeps sbh (34 + 5 a s / h) bytes;
// of the 34, two are dropout masks, and 5 a s / h are attention scores. Here is no dropout, and scores are not kept
// (FlashAttention): sbh · 32, on t tensor ranks sbh (8 + 24 / t), and the statistics of norms and of softmax.
TEST_CASE("activations of a layer are Korthikanti et al.'s, without dropout masks and attention scores") {
  for (const int t : {1, 2, 4}) {
    const auto activations = [&](int layers) {
      Scenario s = make_scenario(gpt(layers, 128), {1, t, 1}, 2);
      s.training.precision = Precision::bf16;
      s.training.sequence = 64;
      const Plan plan = build_plan(s);
      double most = 0;  // of activations alone, over the program
      const Program& p = plan.programs[0];
      std::vector<std::size_t> first(p.buffers.size(), SIZE_MAX), last(p.buffers.size(), 0);
      for (std::size_t i = 0; i < p.ops.size(); ++i)
        for (const auto& operands : {p.inputs(p.ops[i]), p.outputs(p.ops[i])})
          for (const BufferId b : operands) {
            first[static_cast<std::size_t>(b)] = std::min(first[static_cast<std::size_t>(b)], i);
            last[static_cast<std::size_t>(b)] = i;
          }
      for (std::size_t i = 0; i < p.ops.size(); ++i) {
        double alive = 0;
        for (std::size_t b = 0; b < p.buffers.size(); ++b)
          if (p.tensor(static_cast<BufferId>(b)).category == Category::activation && first[b] <= i && i <= last[b])
            alive += p.tensor(static_cast<BufferId>(b)).bytes();
        most = std::max(most, alive);
      }
      return most;
    };
    const double s = 64, b = 2, h = 128, heads = 8;
    const double statistics = 2 * (s * b * 2 * 4) + s * b * heads / t * 4;  // fp32: two norms, log-sum-exp
    CAPTURE(t);
    CHECK(relative_error((activations(6) - activations(4)) / 2, s * b * h * (8 + 24.0 / t) + statistics) < 1e-9);
  }
}
