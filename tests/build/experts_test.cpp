// Laws of expert and context parallelism: what is computed, stored and sent in total follows from closed forms.
#include <algorithm>
#include <map>
#include <numeric>

#include "tests/scenarios.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

double payload(const Program& p, Axis axis, OpKind kind) {
  double total = 0;
  for (const Op& op : p.ops)
    if (op.kind == kind && op.axis == axis) total += p.communication_bytes(op);
  return total;
}

// 2·rows·weights of the experts' products, over all ranks.
double expert_flops(const Plan& plan) {
  double flops = 0;
  for (Rank r = 0; r < plan.mesh.size(); ++r) {
    const Program& p = plan.program(r);
    for (const Op& op : p.ops)
      if (op.kind == OpKind::expert_linear && op.role == Role::forward) {
        const Shape& weight = p.tensor(p.inputs(op)[1]).shape;
        flops += 2 * static_cast<double>(p.tensor(p.inputs(op)[0]).shape[0]) * static_cast<double>(weight.elements()) /
                 static_cast<double>(weight[0]);
      }
  }
  return flops;
}

// Pairs of queries and keys that attention looks at before the mask, over all heads and ranks.
double pairs(const Plan& plan) {
  double total = 0;
  for (Rank r = 0; r < plan.mesh.size(); ++r) {
    const Program& p = plan.program(r);
    for (const Op& op : p.ops) {
      if (op.kind != OpKind::attention || op.role != Role::forward) continue;
      const Shape& qkv = p.tensor(p.inputs(op)[0]).shape;
      const std::int64_t keys = op.inputs.count > 1 ? p.tensor(p.inputs(op)[1]).shape[1] : qkv[1];
      total += static_cast<double>(qkv[0] * qkv[1] * keys * p.attributes[op.attributes].heads);
    }
  }
  return total;
}

Scenario over_context(ContextMethod method, Degrees d) {
  Scenario s = make_scenario(tiny_llama(), d);
  s.strategy.context.method = method;
  return s;
}
constexpr ContextMethod methods[] = {ContextMethod::ring, ContextMethod::all_gather, ContextMethod::ulysses};

}  // namespace

TEST_CASE("rows travel to their experts and back, forward and backward, over the expert axis", "[build]") {
  for (const int n : {2, 4, 8}) {
    const Scenario s = make_scenario(tiny_moe(), {1, 1, 1, 1, n});
    const Plan plan = build_plan(s);
    const double rows = static_cast<double>(s.training.micro_batch * s.training.sequence) * 2;
    const double layers = 2, all_to_alls = 4;
    CHECK(payload(plan.programs[0], Axis::expert, OpKind::all_to_all) ==
          layers * all_to_alls * rows * 32 * 4 * static_cast<double>(s.micro_batches()));
  }
}

TEST_CASE("experts' gradients are summed over data ranks, all others over expert ranks too", "[build]") {
  const Scenario s = make_scenario(tiny_moe(), {2, 1, 1, 1, 2});
  const Plan plan = build_plan(s);
  double experts = 0, others = 0;
  for (const ModelParameter& p : plan.parameters)
    (p.experts ? experts : others) += static_cast<double>(p.shape.elements()) * bytes_of(s.training.grad_dtype);
  CHECK(payload(plan.programs[0], Axis::data, OpKind::all_reduce) == experts / 2);
  CHECK(payload(plan.programs[0], Axis::gradient, OpKind::all_reduce) == others);
}

TEST_CASE("expert ranks store every expert once a data rank, and everything else each", "[build]") {
  const Degrees d{2, 1, 1, 1, 4};
  const Plan plan = build_plan(make_scenario(tiny_moe(), d));
  std::map<std::int32_t, double> stored;
  for (Rank r = 0; r < plan.mesh.size(); ++r)
    for (const Buffer& b : plan.program(r).buffers) {
      const Tensor& t = plan.program(r).tensors[static_cast<std::size_t>(b.tensor)];
      if (t.category == Category::parameter) stored[t.parameter] += static_cast<double>(t.shape.elements());
    }
  for (std::size_t p = 0; p < plan.parameters.size(); ++p)
    CHECK(stored[static_cast<std::int32_t>(p)] == (plan.parameters[p].experts ? d.data : d.data * d.expert) *
                                                      static_cast<double>(plan.parameters[p].shape.elements()));
}

TEST_CASE("experts' flops over all ranks depend neither on the strategy nor on how uneven routing is", "[build]") {
  const double alone = expert_flops(build_plan(make_scenario(tiny_moe(), {})));
  for (const Degrees d :
       {Degrees{1, 1, 1, 1, 2}, Degrees{2, 2, 1, 1, 2}, Degrees{1, 1, 2, 2, 2}, Degrees{1, 1, 1, 1, 8}})
    for (const double imbalance : {0.0, 1.5, 3.0}) {
      CAPTURE(d.data, d.tensor, d.expert, imbalance);
      Scenario s = make_scenario(tiny_moe(), d);
      s.strategy.expert.imbalance = imbalance;
      CHECK(relative_error(expert_flops(build_plan(s)), alone) < 0.05);  // whole rows
    }
}

TEST_CASE("a distribution over experts adds up to one and loads the busiest as asked", "[model]") {
  for (const double imbalance : {1.0, 1.3, 2.0, 3.9})
    for (const std::int64_t seed : {1, 2, 77}) {
      const auto share = distribution_over_experts(8, imbalance, seed);
      CHECK(relative_error(std::accumulate(share.begin(), share.end(), 0.0), 1.0) < 1e-12);
      CHECK(relative_error(*std::max_element(share.begin(), share.end()) * 8, imbalance) < 1e-6);
    }
}

TEST_CASE("uneven routing lengthens the all-to-alls to the busiest rank's share and gives its experts more rows",
          "[build]") {
  Scenario s = make_scenario(tiny_moe(), {1, 1, 1, 1, 4});
  const double even = payload(build_plan(s).programs[0], Axis::expert, OpKind::all_to_all);
  s.strategy.expert.imbalance = 2;
  const auto share = distribution_over_experts(8, 2, s.strategy.expert.seed);
  std::vector<double> by_rank(4);
  for (std::size_t e = 0; e < 8; ++e) by_rank[e / 2] += 4 * share[e];
  const double busiest = *std::max_element(by_rank.begin(), by_rank.end());
  const Plan plan = build_plan(s);
  CHECK(verify(plan).empty());
  REQUIRE(plan.programs.size() == 4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(relative_error(payload(plan.programs[rank], Axis::expert, OpKind::all_to_all), even * busiest) < 0.02);
    for (const Op& op : plan.programs[rank].ops)
      if (op.kind == OpKind::expert_linear && op.role == Role::forward)
        CHECK(std::abs(static_cast<double>(plan.programs[rank].tensor(plan.programs[rank].inputs(op)[0]).shape[0]) -
                       64 * by_rank[rank]) <= 0.5);
  }
}

TEST_CASE("context ranks look at all pairs of queries and keys once, whatever the method", "[build]") {
  const double alone = pairs(build_plan(make_scenario(tiny_llama(), {})));
  for (const ContextMethod method : methods)
    for (const Degrees d : {Degrees{1, 1, 1, 2}, Degrees{1, 1, 1, 4}, Degrees{2, 2, 1, 2}, Degrees{1, 1, 2, 2}}) {
      CAPTURE(static_cast<int>(method), d.context, d.tensor);
      CHECK(pairs(build_plan(over_context(method, d))) == alone);
    }
}

// The formulas of sim/parallel/context.cpp.
TEST_CASE("bytes on the context axis are those of each method's formula", "[build]") {
  for (const int n : {2, 4}) {
    const Scenario s = over_context(ContextMethod::ring, {1, 1, 1, n});
    const double mb = static_cast<double>(s.micro_batches()), layers = 4;
    const double rows = static_cast<double>(s.training.micro_batch * s.training.sequence);
    const double heads = 8, kv = 4, d = 4, block = rows * 2 * kv * d * 4;
    CAPTURE(n);
    CHECK(payload(build_plan(s).programs[0], Axis::context, OpKind::permute) == layers * mb * 3 * (n - 1) * block / n);
    const Plan gathers = build_plan(over_context(ContextMethod::all_gather, {1, 1, 1, n}));
    CHECK(payload(gathers.programs[0], Axis::context, OpKind::all_gather) == layers * mb * 2 * block);
    CHECK(payload(gathers.programs[0], Axis::context, OpKind::reduce_scatter) == layers * mb * block);
    const Plan heads_first = build_plan(over_context(ContextMethod::ulysses, {1, 1, 1, n}));
    CHECK(payload(heads_first.programs[0], Axis::context, OpKind::all_to_all) ==
          layers * mb * 2 * rows / n * (2 * heads + 2 * kv) * d * 4);
    CHECK(payload(heads_first.programs[0], Axis::gradient, OpKind::all_reduce) ==
          static_cast<double>(parameter_count(s.model)) * 4);
  }
}
