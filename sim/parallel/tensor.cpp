// Tensor parallelism (Shoeybi et al. 2019, "Megatron-LM", §3): weights are split by columns or rows, activations
// follow; where an operation leaves a partial sum, the all-reduce that its change of placement implies goes in.
// Bytes on the axis a layer and micro-batch: forward 2 all-reduces of B·S·H (after the row-parallel products),
// backward 2 more (the input gradients of the column-parallel ones, see sim/build/backward.cpp).
#include <stdexcept>

#include "sim/parallel/draft.h"

namespace trainwire {
namespace {

using Kind = Placement::Kind;
constexpr auto axis = static_cast<std::size_t>(Axis::tensor);

struct TensorPass {
  Draft& draft;
  int degree;
  std::vector<DraftOp> result;

  Placement& placement(TensorId t) { return tensor(draft, t).placement[axis]; }

  void place(TensorId id, Placement p) {
    Tensor& t = tensor(draft, id);
    t.placement[axis] = p;
    t.shape = t.global;
    if (p.kind == Kind::shard) t.shape[p.dim] /= degree;
  }

  Placement last_dim(TensorId id) { return {Kind::shard, static_cast<std::int8_t>(tensor(draft, id).global.rank - 1)}; }

  // Emits what turns the placement that `op` leaves into the one its readers need: replicated. In place.
  void settle(const DraftOp& op, TensorId t, Placement produced, Reduction reduction) {
    place(t, {});
    if (transition(produced, {}) != Transition::all_reduce) return;
    DraftOp reduce;
    reduce.kind = OpKind::all_reduce;
    reduce.stream = Stream::tensor;
    reduce.axis = Axis::tensor;
    reduce.reduction = reduction;
    reduce.layer = op.layer;
    reduce.inputs = reduce.outputs = {t};
    result.push_back(reduce);
  }

  void linear(DraftOp op) {
    const TensorId weight = op.inputs[1], out = op.outputs[0];
    const Placement w = placement(weight);
    const bool rows = w.kind == Kind::shard && (w.dim == 0) != op.attributes.transposed;
    if (!rows) {
      if (w.kind == Kind::shard) place(out, last_dim(out));
      result.push_back(std::move(op));
      return;
    }
    const bool biased = op.inputs.size() > 2;
    DraftOp add_bias = op;
    op.inputs.resize(2);
    if (biased) {  // the bias is added once, after the sum over the ranks
      op.outputs[0] =
          add_like(draft, out, tensor(draft, out).name + ".product", tensor(draft, out).dtype, Category::activation);
      add_bias.kind = OpKind::bias;
      add_bias.inputs = {op.outputs[0], add_bias.inputs[2]};
    }
    result.push_back(op);
    settle(op, op.outputs[0], {Kind::partial}, Reduction::sum);
    if (biased) result.push_back(std::move(add_bias));
  }

  void follow_input(DraftOp op) {
    if (placement(op.inputs[0]).kind == Kind::shard) {
      place(op.outputs[0], last_dim(op.outputs[0]));
      if (op.kind == OpKind::attention) place(op.outputs[1], {Kind::shard, 1});
      op.attributes.heads /= degree;
      op.attributes.kv_heads /= degree;
    }
    result.push_back(std::move(op));
  }

  void reduced_over_shard(DraftOp op, bool partial, Reduction reduction) {
    result.push_back(op);
    if (partial) settle(op, op.outputs[0], {Kind::partial}, reduction);
  }

  void apply(const DraftOp& op) {
    const bool sharded_input = placement(op.inputs[0]).kind == Kind::shard;
    switch (op.kind) {
      case OpKind::linear:
        return linear(op);
      case OpKind::embedding:
        return reduced_over_shard(op, placement(op.inputs[1]).kind == Kind::shard, Reduction::sum);
      case OpKind::logits_max:
        return reduced_over_shard(op, sharded_input, Reduction::max);
      case OpKind::logits_sum:
        return reduced_over_shard(op, sharded_input, Reduction::sum);
      case OpKind::rotary:
      case OpKind::attention:
      case OpKind::gelu:
      case OpKind::swiglu:
      case OpKind::relu:
        return follow_input(op);
      default:
        result.push_back(op);
    }
  }
};

}  // namespace

void tensor_parallel(Draft& draft, const Scenario& s) {
  if (s.mesh.degree(Axis::tensor) == 1) return;
  TensorPass pass{draft, s.mesh.degree(Axis::tensor), {}};
  for (std::size_t p = 0; p < draft.parameters.size(); ++p) {
    const int split = draft.parameters[p].split;
    if (split >= 0) pass.place(draft.parameter_tensor[p], {Kind::shard, static_cast<std::int8_t>(split)});
  }
  for (const DraftOp& op : draft.forward) pass.apply(op);
  draft.forward = std::move(pass.result);
}

}  // namespace trainwire
