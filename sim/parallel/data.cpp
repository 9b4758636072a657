// The data axis: replicas see different sequences and sum their gradients. What each keeps is a row of one table
// (Rajbhandari et al. 2020, "ZeRO"). Bytes that each rank sends a step, Ψ being the bytes of the parameters or of their
// gradients and m the micro-batches (reduce-scatter and all-gather over n ranks: (n-1)/n of the tensor, all-reduce
// twice that):
//   none (DDP)         2 Ψ (n-1)/n, gradients
//   zero1              Ψ (n-1)/n of gradients + Ψ (n-1)/n of parameters
//   zero2              m Ψ (n-1)/n of gradients + Ψ (n-1)/n of parameters
//   zero3, fsdp        m Ψ (n-1)/n of gradients + 2 m Ψ (n-1)/n of parameters (m where they stay after forward)
//   hsdp               fsdp within a group of n; one all-reduce of the gradient shards, Ψ/n, between the groups
// Context and expert ranks sum the shards of parameters that they share with one all-reduce of Ψ/n each, too.
#include "sim/parallel/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace trainwire {
namespace {

constexpr ShardingRule rules[] = {
    // sharding       optimizer gradients parameters by_unit fp32_shards no_sync keep_in_pipeline
    {Sharding::none, false, false, false, false, false, true, false},
    {Sharding::zero1, true, false, false, false, false, true, false},
    {Sharding::zero2, true, true, false, false, false, false, false},
    {Sharding::zero3, true, true, true, true, false, false, false},
    {Sharding::fsdp, true, true, true, true, true, false, true},
    {Sharding::hsdp, true, true, true, true, true, false, true},
};

// The ranks that hold the same parameters: the axis of their gradients' sum. Ranks of the context and expert axes work
// on other tokens with the same parameters, and take part; experts are shared by the data and context axes alone.
Axis sharers(const DeviceMesh& mesh, bool experts) {
  const bool context = mesh.degree(Axis::context) > 1;
  if (experts) return context ? Axis::expert_gradient : Axis::data;
  return context || mesh.degree(Axis::expert) > 1 ? Axis::gradient : Axis::data;
}

// Without sharding (DDP; Li et al. 2020, "PyTorch Distributed"): a bucket's all-reduce starts when the last micro-batch
// has written its last gradient, while the backward pass goes on.
void all_reduce_buckets(Draft& d, const Scenario& s, int stage) {
  const auto writers = last_writers(d, stage);
  int ready = -1;
  bool experts = false;
  for (const Bucket& bucket : buckets_by_size(d, stage, s.strategy.data.bucket.value, false)) {
    const Axis axis = sharers(s.mesh, bucket.experts);
    if (s.mesh.degree(axis) == 1) continue;
    if (bucket.experts != std::exchange(experts, bucket.experts)) ready = -1;
    std::int64_t elements = 0;
    for (const TensorId g : bucket.gradients) elements += tensor(d, g).shape.elements();
    const TensorId buffer =
        add_flat(d, bucket.name, Category::gradient, tensor(d, bucket.gradients[0]).dtype, elements, -1);
    std::int64_t offset = 0;
    for (const TensorId g : bucket.gradients) {
      tensor(d, g).view_of = buffer;
      tensor(d, g).offset = offset;
      offset += tensor(d, g).shape.elements();
      ready = std::max(ready, writers.at(g));
    }
    DraftOp reduce;
    reduce.kind = OpKind::all_reduce;
    reduce.role = Role::backward;
    reduce.stream = Stream::data;
    reduce.axis = axis;
    reduce.stage = stage;
    reduce.layer = bucket.layer;
    reduce.inputs = reduce.outputs = {buffer};
    d.step.push_back({reduce, s.strategy.data.overlap ? ready : -1});
  }
}

}  // namespace

const ShardingRule& sharding_rule(Sharding sharding) {
  for (const ShardingRule& rule : rules)
    if (rule.sharding == sharding) return rule;
  throw std::logic_error("a sharding without a row in the table");
}

bool reduces_once(const Scenario& s) {
  return s.strategy.data.no_sync.value_or(
      sharding_rule(s.strategy.data.sharding).no_sync ||
      (sharding_rule(s.strategy.data.sharding).keep_in_pipeline && s.mesh.degree(Axis::pipeline) > 1));
}

bool reshards_after_forward(const Scenario& s) {
  const bool keep = sharding_rule(s.strategy.data.sharding).keep_in_pipeline && s.mesh.degree(Axis::pipeline) > 1;
  return s.strategy.data.reshard_after_forward.value_or(!keep);
}

void data_parallel(Draft& d, const Scenario& s) {
  const bool alone = s.mesh.degree(Axis::data) * s.mesh.degree(Axis::replica) == 1;
  const ShardingRule& rule = sharding_rule(s.strategy.data.sharding);
  for (int stage = 0; stage < s.mesh.degree(Axis::pipeline); ++stage) {
    if (alone || !rule.optimizer) {
      all_reduce_buckets(d, s, stage);
      continue;
    }
    std::vector<SharedBucket> buckets = share_buckets(d, s, stage, rule);
    reduce_to_shards(d, s, buckets, rule);
    if (rule.parameters) gather_parameters(d, s, buckets);
  }
}

}  // namespace trainwire
