// Tensor parallelism (Shoeybi et al. 2019, "Megatron-LM", §3): weights are split by columns or rows, activations
// follow; where an operation leaves a partial sum, the all-reduce that its change of placement implies goes in.
// Bytes on the axis a layer and micro-batch: forward 2 all-reduces of B·S·H (after the row-parallel products),
// backward 2 more (the input gradients of the column-parallel ones, see sim/build/backward.cpp).
//
// With sequence parallelism (Korthikanti et al. 2022, "Reducing activation recomputation", §4.2.2) what lies between
// the split parts (norms, residual sums, biases) is divided along the sequence: a reduce-scatter takes the place of
// each all-reduce, an all-gather stands before each column-parallel product, and backward the reverse. 4 of each carry
// the bytes of 4 all-reduces. Only the shard of a gathered input is kept: backward gathers it again, 2 all-gathers
// more. Gradients of parameters that were used on shards are summed over the axis once a step (tensor_gradients).
#include <map>
#include <stdexcept>

#include "sim/parallel/draft.h"

namespace trainwire {
namespace {

using Kind = Placement::Kind;
constexpr auto axis = static_cast<std::size_t>(Axis::tensor);
constexpr Placement sequence_shard{Kind::shard, 1};  // of (B,S,H)

struct TensorPass {
  Draft& draft;
  int degree;
  bool sequence_parallel;
  std::vector<DraftOp> result;
  std::map<TensorId, TensorId> gathered;  // sequence shards that were gathered before

  Placement& placement(TensorId t) { return tensor(draft, t).placement[axis]; }

  void place(TensorId id, Placement p) {
    Tensor& t = tensor(draft, id);
    t.placement[axis] = p;
    t.shape = t.global;
    if (p.kind == Kind::shard) t.shape[p.dim] /= degree;
  }

  Placement last_dim(TensorId id) { return {Kind::shard, static_cast<std::int8_t>(tensor(draft, id).global.rank - 1)}; }

  bool on_sequence_shard(TensorId t) { return tensor(draft, t).shape.rank == 3 && placement(t) == sequence_shard; }

  void collective(OpKind kind, int layer, TensorId from, TensorId to, Reduction reduction = Reduction::sum) {
    DraftOp op;
    op.kind = kind;
    op.stream = Stream::tensor;
    op.axis = Axis::tensor;
    op.reduction = reduction;
    op.layer = layer;
    op.inputs = {from};
    op.outputs = {to};
    result.push_back(std::move(op));
  }

  TensorId add_activation(TensorId like, const char* suffix, Placement p) {
    const TensorId t =
        add_like(draft, like, tensor(draft, like).name + suffix, tensor(draft, like).dtype, Category::activation);
    place(t, p);
    return t;
  }

  // Emits `op`, which leaves a partial sum, and what turns that into the placement its readers need.
  void reduced(DraftOp op, Placement needed, Reduction reduction = Reduction::sum) {
    const TensorId t = op.outputs[0];
    const int layer = op.layer;
    place(t, needed);
    if (transition({Kind::partial}, needed) == Transition::all_reduce) {
      result.push_back(std::move(op));
      return collective(OpKind::all_reduce, layer, t, t, reduction);
    }
    const TensorId partial = op.outputs[0] = add_activation(t, ".partial", {Kind::partial});
    result.push_back(std::move(op));
    collective(OpKind::reduce_scatter, layer, partial, t);
  }

  // What the split parts leave behind: whole, or its part of the sequence.
  Placement between() const { return sequence_parallel ? sequence_shard : Placement{}; }

  // All of a tensor of which the rank has a part of the sequence.
  TensorId whole(TensorId t, int layer) {
    if (!on_sequence_shard(t)) return t;
    const auto [entry, fresh] = gathered.try_emplace(t, -1);
    if (fresh) {
      entry->second = add_activation(t, ".gathered", {});
      collective(OpKind::all_gather, layer, t, entry->second);
    }
    return entry->second;
  }

  void linear(DraftOp op) {
    op.inputs[0] = whole(op.inputs[0], op.layer);
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
    reduced(std::move(op), between());
    if (biased) apply(add_bias);
  }

  void follow_input(DraftOp op) {
    if (placement(op.inputs[0]).kind == Kind::shard) {
      place(op.outputs[0], last_dim(op.outputs[0]));
      if (op.kind == OpKind::attention) place(op.outputs[1], {Kind::shard, 1});
      if (op.kind == OpKind::qk_norm) place(op.outputs[1], {Kind::shard, 2});
      op.attributes.heads /= degree;
      op.attributes.kv_heads /= degree;
    }
    result.push_back(std::move(op));
  }

  // Row by row: the result and its statistics (rows, …) lie as the input does.
  void rowwise(DraftOp op) {
    if (on_sequence_shard(op.inputs[0])) {
      place(op.outputs[0], sequence_shard);
      for (std::size_t o = 1; o < op.outputs.size(); ++o) place(op.outputs[o], {Kind::shard, 0});
    }
    result.push_back(std::move(op));
  }

  // Experts' weights are split like those of a feed-forward part; what the second product leaves is summed after the
  // rows of a token are, which are fewer.
  void expert_linear(DraftOp op) {
    const Placement w = placement(op.inputs[1]);
    const bool rows = w.kind == Kind::shard && w.dim == 1;
    if (w.kind == Kind::shard) place(op.outputs[0], rows ? Placement{Kind::partial} : last_dim(op.outputs[0]));
    result.push_back(std::move(op));
  }

  void apply(const DraftOp& op) {
    const bool sharded_input = placement(op.inputs[0]).kind == Kind::shard;
    switch (op.kind) {
      case OpKind::linear:
        return linear(op);
      case OpKind::expert_linear:
        return expert_linear(op);
      case OpKind::dispatch: {
        DraftOp whole_input = op;
        whole_input.inputs[0] = whole(op.inputs[0], op.layer);
        result.push_back(std::move(whole_input));
        return;
      }
      case OpKind::combine:
      case OpKind::embedding:
        return reduced(op, between());
      case OpKind::logits_max:
      case OpKind::logits_sum:
        if (!sharded_input) break;
        return reduced(op, {}, op.kind == OpKind::logits_max ? Reduction::max : Reduction::sum);
      case OpKind::rotary:
      case OpKind::qk_norm:
      case OpKind::attention:
      case OpKind::gelu:
      case OpKind::swiglu:
      case OpKind::relu:
        return follow_input(op);
      default:
        break;
    }
    rowwise(op);
  }
};

}  // namespace

void tensor_parallel(Draft& draft, const Scenario& s) {
  if (s.mesh.degree(Axis::tensor) == 1) return;
  TensorPass pass{draft, s.mesh.degree(Axis::tensor), s.strategy.tensor.sequence_parallel, {}, {}};
  for (std::size_t p = 0; p < draft.parameters.size(); ++p) {
    const int split = draft.parameters[p].split;
    if (split >= 0) pass.place(draft.parameter_tensor[p], {Kind::shard, static_cast<std::int8_t>(split)});
  }
  for (const DraftOp& op : draft.forward) pass.apply(op);
  draft.forward = std::move(pass.result);
}

void tensor_gradients(Draft& d, const Scenario& s) {
  if (s.mesh.degree(Axis::tensor) == 1) return;
  std::map<TensorId, int> last_writer;
  for (std::size_t i = 0; i < d.backward.size(); ++i)
    for (const TensorId t : d.backward[i].outputs)
      if (tensor(d, t).category == Category::gradient && tensor(d, t).placement[axis].kind == Kind::partial)
        last_writer[t] = static_cast<int>(i);
  for (const auto& [gradient, writer] : last_writer) {
    DraftOp op;
    op.kind = OpKind::all_reduce;
    op.role = Role::backward;
    op.stream = Stream::tensor;
    op.axis = Axis::tensor;
    op.layer = d.backward[static_cast<std::size_t>(writer)].layer;
    op.stage = d.backward[static_cast<std::size_t>(writer)].stage;
    op.inputs = op.outputs = {gradient};
    tensor(d, gradient).placement[axis] = {};
    d.step.push_back({std::move(op), writer});
  }
}

}  // namespace trainwire
