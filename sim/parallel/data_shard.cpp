// ZeRO's first two stages: a bucket's gradients are reduce-scattered, a rank updates its shard of the parameters and
// keeps optimizer states of that alone; where every rank keeps all parameters (stages 1 and 2), they are all-gathered
// after the update. Stage 1 reduces once a step, in place; stage 2 reduces after every micro-batch and adds to a shard,
// so that whole gradients live no longer than their bucket's backward pass.
#include <fmt/format.h>

#include <algorithm>

#include "sim/parallel/data.h"

namespace trainwire {
namespace {

DraftOp collective(OpKind kind, Role role, const SharedBucket& b, TensorId in, TensorId out) {
  DraftOp op;
  op.kind = kind;
  op.role = role;
  op.stream = Stream::data;
  op.axis = Axis::data;
  op.stage = b.stage;
  op.layer = b.bucket.layer;
  op.inputs = {in};
  op.outputs = {out};
  return op;
}

// A view of a flat tensor, which lives as long as that does.
void make_view(Draft& d, TensorId t, TensorId flat, std::int64_t offset) {
  tensor(d, t).view_of = flat;
  tensor(d, t).offset = offset;
  tensor(d, t).each_micro_batch = tensor(d, flat).each_micro_batch;
}

// Stages that keep one parameter exchange its gradient once a step: now their shards of it.
void exchange_shards(Draft& d, const SharedBucket& b) {
  for (const TensorId g : b.bucket.gradients)
    for (StepOp& step : d.step) {
      if (step.op.stage != b.stage) continue;
      bool mentioned = false;
      for (auto* operands : {&step.op.inputs, &step.op.outputs})
        for (TensorId& t : *operands)
          if (t == g) t = b.gradient_shard, mentioned = true;
      if (!mentioned || step.op.role != Role::sum_gradients) continue;
      Tensor& other = tensor(d, step.op.inputs[1]);
      const Tensor& shard = tensor(d, b.gradient_shard);
      other.shape = shard.shape, other.global = shard.global, other.placement = shard.placement;
    }
}

// Groups that shard each for itself (hsdp), and context and expert ranks with the same parameters, add their shards up
// once a step.
void reduce_between_groups(const Scenario& s, const SharedBucket& b, int after, std::vector<StepOp>& step) {
  for (const Axis axis : {Axis::replica, Axis::context, Axis::expert}) {
    if (s.mesh.degree(axis) == 1 || (axis == Axis::expert && b.bucket.experts)) continue;
    DraftOp reduce = collective(OpKind::all_reduce, Role::backward, b, b.gradient_shard, b.gradient_shard);
    reduce.stream = Stream::replica;
    reduce.axis = axis;
    step.push_back({reduce, s.strategy.data.overlap ? after : -1});
  }
}

// Tensor ranks that have parts of a gradient add them up before it is shared out: where that is after every
// micro-batch, so do they.
std::vector<Insertion> sums_of_tensor_ranks(Draft& d, const std::map<TensorId, int>& writers, bool once,
                                            std::vector<StepOp>& step) {
  std::vector<Insertion> every;
  std::vector<StepOp> others;
  for (StepOp& op : d.step) {
    const bool ours =
        op.op.kind == OpKind::all_reduce && op.op.axis == Axis::tensor && writers.contains(op.op.inputs[0]);
    if (!ours) {
      others.push_back(std::move(op));
    } else if (once) {
      step.push_back(std::move(op));
    } else {
      const int writer = writers.at(op.op.inputs[0]);
      op.op.chunk = d.backward[static_cast<std::size_t>(writer)].chunk;
      every.push_back({writer + 1, std::move(op.op)});
    }
  }
  d.step = std::move(others);
  return every;
}

}  // namespace

std::string SharedBucket::name() const { return bucket.name; }

std::vector<SharedBucket> share_buckets(Draft& d, const Scenario& s, int stage, const ShardingRule& rule) {
  const bool once = reduces_once(s);
  const std::int64_t degree = s.mesh.degree(Axis::data);
  std::vector<SharedBucket> shared;
  for (const Bucket& bucket :
       rule.by_unit ? buckets_by_unit(d, stage) : buckets_by_size(d, stage, s.strategy.data.bucket.value, true)) {
    SharedBucket b;
    b.stage = stage;
    b.bucket = bucket;
    b.layout = static_cast<std::int32_t>(d.flats.size());
    std::vector<FlatPiece> pieces;
    for (const TensorId g : bucket.gradients) {
      const TensorId parameter = d.parameter_tensor[static_cast<std::size_t>(tensor(d, g).parameter)];
      pieces.push_back({parameter, b.elements});
      b.elements += tensor(d, g).shape.elements();
    }
    b.elements = (b.elements + degree - 1) / degree * degree;
    d.flats.push_back(pieces);
    b.gradients = add_flat(d, "gradients of " + b.name(), Category::gradient, tensor(d, bucket.gradients[0]).dtype,
                           b.elements, b.layout);
    tensor(d, b.gradients).each_micro_batch = !once;
    b.gradient_shard =
        add_shard(d, s, b.gradients, "gradient shard of " + b.name(), tensor(d, b.gradients).dtype, once);
    const DType dtype = tensor(d, pieces[0].parameter).dtype;
    b.parameters = tensor(d, pieces[0].parameter).view_of;  // laid out already where another stage keeps them too
    if (rule.parameters || b.parameters < 0)
      b.parameters = add_flat(d, "parameters of " + b.name(), Category::parameter, dtype, b.elements, b.layout);
    b.parameter_shard = add_shard(d, s, b.parameters, "parameter shard of " + b.name(),
                                  rule.fp32_shards ? DType::fp32 : dtype, !rule.parameters);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      make_view(d, bucket.gradients[i], b.gradients, pieces[i].offset);
      if (!rule.parameters) make_view(d, pieces[i].parameter, b.parameters, pieces[i].offset);
    }
    shared.push_back(std::move(b));
  }
  return shared;
}

void reduce_to_shards(Draft& d, const Scenario& s, std::vector<SharedBucket>& buckets, const ShardingRule& rule) {
  const bool once = reduces_once(s), overlap = s.strategy.data.overlap;
  if (buckets.empty()) return;
  const auto writers = last_writers(d, buckets[0].stage);
  std::vector<StepOp> step;
  std::vector<Insertion> insertions = sums_of_tensor_ranks(d, writers, once, step);
  int ready = -1;
  for (const SharedBucket& b : buckets) {
    int written = -1;
    for (const TensorId g : b.bucket.gradients) written = std::max(written, writers.at(g));
    // Buckets of one size are reduced in their order; a unit when it is ready.
    ready = rule.by_unit ? written : std::max(ready, written);
    DraftOp reduce = collective(OpKind::reduce_scatter, Role::backward, b, b.gradients, b.gradient_shard);
    reduce.blocking = !overlap;
    reduce.chunk = d.backward[static_cast<std::size_t>(written)].chunk;
    if (once) {
      step.push_back({reduce, overlap ? ready : -1});
    } else {
      insertions.push_back({ready + 1, reduce});
    }
    reduce_between_groups(s, b, ready, step);
    exchange_shards(d, b);
    ShardUpdate update{b.stage, b.bucket.layer, b.gradient_shard, b.parameter_shard, std::nullopt};
    if (!rule.parameters)
      update.gather = collective(OpKind::all_gather, Role::update, b, b.parameter_shard, b.parameters);
    d.shards.push_back(std::move(update));
  }
  d.step.insert(d.step.begin(), step.begin(), step.end());
  insert(d, d.backward, std::move(insertions));
  // Sums between groups follow the last reduce-scatter, which may come after the gradient's writer.
  for (StepOp& op : d.step) {
    if (op.after < 0 || op.op.kind != OpKind::all_reduce || op.op.stage != buckets[0].stage) continue;
    for (std::size_t i = static_cast<std::size_t>(op.after); i < d.backward.size(); ++i)
      if (d.backward[i].kind == OpKind::reduce_scatter && d.backward[i].outputs == op.op.outputs)
        op.after = static_cast<int>(i);
  }
}

}  // namespace trainwire
