// Laws of activation recomputation: what is computed once more, and what is kept between the passes.
#include <map>
#include <tuple>

#include "tests/scenarios.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

Scenario with(const std::string& model, Degrees d, Recompute how) {
  Scenario s = make_scenario(model, d, 4);
  s.training.recompute = how;
  return s;
}

// How often forward operations run on a rank of each program, by kind, layer and size; transfers left out.
using Counts = std::map<std::tuple<OpKind, int, std::int64_t>, int>;
Counts forward_operations(const Plan& plan) {
  Counts counts;
  for (const Program& p : plan.programs)
    for (const Op& op : p.ops)
      if (op.role == Role::forward && !is_point_to_point(op.kind))
        ++counts[{op.kind, op.layer, p.tensor(p.outputs(op)[0]).shape.elements()}];
  return counts;
}

bool is_block(const Scenario& s, int layer) {
  return s.model.layers[static_cast<std::size_t>(layer)].kind == Layer::Kind::block;
}

std::string gpt(int layers) {
  return "{family: transformer, layers: " + std::to_string(layers) +
         ", hidden: 32, heads: 4, vocab: 64, positions: learned, max_sequence: 16, norm: layer_norm, activation: gelu, "
         "biases: true, source: test}";
}

// Bytes of one micro-batch that a rank writes in the forward pass and reads in the backward pass.
double kept_bytes(int layers, Degrees d, Recompute how, int segment = 1) {
  Scenario s = with(gpt(layers), d, how);
  s.training.recompute_segment = segment;
  s.training.precision = Precision::bf16;
  s.training.global_batch = s.training.micro_batch * d.data;
  const Plan plan = build_plan(s);
  const Program& p = plan.programs.at(0);
  std::vector<int> state(p.buffers.size(), 0);  // 1: written forward, 2: read backward
  bool forward = true;
  double bytes = 0;
  for (const Op& op : p.ops) {
    forward = forward && op.role == Role::forward && op.kind != OpKind::cross_entropy;
    if (!forward)
      for (const BufferId b : p.inputs(op)) {
        if (state[static_cast<std::size_t>(b)] != 1) continue;
        state[static_cast<std::size_t>(b)] = 2;
        bytes += p.tensor(b).bytes();
      }
    for (const BufferId b : p.outputs(op))
      state[static_cast<std::size_t>(b)] = forward && p.tensor(b).category == Category::activation ? 1 : 0;
  }
  return bytes;
}

double kept_by_a_block(Degrees d, Recompute how, int segment = 1) {
  return (kept_bytes(8, d, how, segment) - kept_bytes(4, d, how, segment)) / 4;
}

}  // namespace

TEST_CASE("full recomputation runs the blocks' forward pass once more, collectives included, and nothing else",
          "[recompute]") {
  for (const std::string& model : {tiny_gpt(), tiny_llama(), tiny_mlp()})
    for (const Degrees d : {Degrees{1, 1, 1}, Degrees{2, 2, 2}, Degrees{1, 2, 1}}) {
      const Scenario s = with(model, d, Recompute::full);
      const Counts once = forward_operations(build_plan(with(model, d, Recompute::none)));
      const Counts twice = forward_operations(build_plan(s));
      CAPTURE(model, d.data, d.tensor, d.pipeline);
      REQUIRE(once.size() == twice.size());
      for (const auto& [key, count] : once) CHECK(twice.at(key) == count * (is_block(s, std::get<1>(key)) ? 2 : 1));
    }
}

// Korthikanti et al. 2022, section 5: full recomputation repeats the two all-reduces of the forward pass.
TEST_CASE("full recomputation all-reduces the hidden state six times a block instead of four", "[recompute]") {
  const auto bytes = [](Recompute how) {
    double sum = 0;
    const Plan plan = build_plan(with(tiny_llama(), {1, 2, 1}, how));
    for (const Op& op : plan.programs[0].ops)
      if (op.kind == OpKind::all_reduce) sum += plan.programs[0].communication_bytes(op);
    return sum;
  };
  const Scenario s = with(tiny_llama(), {1, 2, 1}, Recompute::full);
  const double hidden = static_cast<double>(s.training.micro_batch * s.training.sequence) * 32 * 4;
  const double blocks = static_cast<double>(s.model.transformer.layers * s.micro_batches());
  CHECK(bytes(Recompute::full) - bytes(Recompute::none) == 2 * blocks * hidden);
  CHECK(bytes(Recompute::selective) == bytes(Recompute::none));
}

TEST_CASE("selective recomputation runs the attention core once more", "[recompute]") {
  const Counts once = forward_operations(build_plan(with(tiny_llama(), {1, 2, 2}, Recompute::none)));
  const Counts twice = forward_operations(build_plan(with(tiny_llama(), {1, 2, 2}, Recompute::selective)));
  REQUIRE(once.size() == twice.size());
  for (const auto& [key, count] : once) CHECK(twice.at(key) == count * (std::get<0>(key) == OpKind::attention ? 2 : 1));
}

TEST_CASE("of the blocks of each stage the first of every so many, or the first so many, are recomputed",
          "[recompute]") {
  const auto again = [](int every, int blocks) {
    Scenario s = with(gpt(8), {1, 1, 2}, Recompute::full);
    s.training.recompute_every = every;
    s.training.recompute_blocks = blocks;
    std::vector<int> layers;
    for (const auto& [key, count] : forward_operations(build_plan(s)))
      if (std::get<0>(key) == OpKind::attention && count == 2 * static_cast<int>(s.micro_batches()))
        layers.push_back(std::get<1>(key) - 1);
    return layers;
  };
  CHECK(again(1, 0) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(again(2, 0) == std::vector<int>{0, 2, 4, 6});
  CHECK(again(3, 0) == std::vector<int>{0, 3, 4, 7});
  CHECK(again(1, 1) == std::vector<int>{0, 4});
  CHECK(again(2, 3) == std::vector<int>{0, 2, 4, 6});
}

// Korthikanti et al. 2022, equations 2 and 3 and table 2, in bytes a layer of 16-bit activations: s·b·h·(10 + 24/t) and
// 5·a·s²·b/t of scores. Of those there are no dropout masks here (2·s·b·h), the attention is fused and keeps a
// log-sum-exp (4 bytes) a row in place of the scores, and both norms keep mean and 1/sigma (8 bytes a row).
TEST_CASE("a block keeps the bytes of Korthikanti et al. under each kind of recomputation", "[recompute]") {
  const double s = 16, b = 2, h = 32, a = 4;
  for (const int t : {1, 2, 4}) {
    const Degrees d{1, t, 1};
    const double without_scores = s * b * h * (10 - 2 + 24.0 / t) + 2 * 8 * s * b;
    CAPTURE(t);
    CHECK(kept_by_a_block(d, Recompute::none) == without_scores + 4 * a * s * b / t);
    CHECK(kept_by_a_block(d, Recompute::selective) == without_scores);
    CHECK(kept_by_a_block(d, Recompute::full) == 2 * s * b * h);
    CHECK(kept_by_a_block(d, Recompute::full, 2) == 2 * s * b * h / 2);
    CHECK(kept_by_a_block(d, Recompute::full, 4) == 2 * s * b * h / 4);
  }
}
