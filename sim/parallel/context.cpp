// Context parallelism: ranks of the axis share out the tokens of every sequence. All that works token by token stays as
// it is; attention needs the keys and values of other ranks' tokens. n ranks, B·S·H per micro-batch, kv KV heads of d:
//   all-gather  keys and values are gathered before attention and again for backward, where their gradient is
//               reduce-scattered (Llama 3; Grattafiori et al. 2024, §3.3.2). Bytes a layer: 3 · B·S·2·kv·d, (n-1)/n
//               each.
//   ulysses     an all-to-all turns shares of tokens into shares of heads, and one turns them back (Jacobs et al.
//   2023).
//               Bytes a layer and rank: 2 · B·S/n · (2·heads + 2·kv)·d, (n-1)/n of which leave the rank.
//   ring        blocks of keys and values go around, n-1 times forward and n-1 times backward, where their gradients
//               follow them home with n-1 more (Liu et al. 2023). Bytes a layer and rank: 3 · (n-1) · B·S/n · 2·kv·d.
// Ring and all-gather give member i the parts i and 2n-1-i of 2n of the sequence, so that a causal mask leaves all
// members equal work. Gradients of parameters are summed over the axis together with the data axis.
#include <string>

#include "sim/parallel/draft.h"

namespace trainwire {
namespace {

using Kind = Placement::Kind;
constexpr auto axis = static_cast<std::size_t>(Axis::context);
constexpr auto tensor_axis = static_cast<std::size_t>(Axis::tensor);

struct ContextPass {
  Draft& draft;
  int degree;
  ContextMethod method;
  int tensor_degree;
  std::vector<DraftOp> result;

  Tensor& at(TensorId t) { return tensor(draft, t); }

  void divide(TensorId t, int dim) {
    Placement& p = at(t).placement[axis];
    if (p.kind == Kind::shard) return;
    p = {Kind::shard, static_cast<std::int8_t>(dim), method != ContextMethod::ulysses};
    at(t).shape[dim] /= degree;
    at(t).routed.rows /= degree;
  }

  // Tokens are dimension 1 of (B,S,…), the last of log-sum-exps (B,heads,S), and B·S rows of everything else.
  void divide_tokens(const DraftOp& op) {
    for (const TensorId t : op.inputs)
      if (at(t).category == Category::input) divide(t, 1);
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      const TensorId t = op.outputs[o];
      if (op.kind == OpKind::cross_entropy) continue;  // the rank's share of the loss
      if (op.kind == OpKind::attention && o == 1)
        divide(t, 2);
      else
        divide(t, at(t).shape.rank == 3 ? 1 : 0);
    }
  }

  TensorId add_activation(TensorId like, const std::string& name, Placement p) {
    const TensorId id = add_like(draft, like, name, at(like).dtype, Category::activation);
    Tensor& t = at(id);
    t.placement[axis] = p;
    t.shape = t.global;
    for (const std::size_t a : {axis, tensor_axis})
      if (t.placement[a].kind == Kind::shard) t.shape[t.placement[a].dim] /= a == axis ? degree : tensor_degree;
    return id;
  }

  void collective(OpKind kind, int layer, TensorId from, TensorId to) {
    DraftOp op;
    op.kind = kind;
    op.stream = Stream::context;
    op.axis = Axis::context;
    op.layer = layer;
    op.inputs = {from};
    op.outputs = {to};
    result.push_back(std::move(op));
  }

  // (B,S,kv·2·d) of the rank's own tokens.
  TensorId keys_values(const DraftOp& attention) {
    const TensorId qkv = attention.inputs[0];
    const std::string name = at(attention.outputs[0]).name + ".kv";
    const TensorId kv = add_like(draft, qkv, name, at(qkv).dtype, Category::activation);
    const Attributes& a = attention.attributes;
    at(kv).shape[2] = 2 * a.kv_heads * a.head_dim;
    at(kv).global[2] = at(kv).shape[2] * (at(qkv).placement[tensor_axis].kind == Kind::shard ? tensor_degree : 1);
    DraftOp op = attention;
    op.kind = OpKind::keys_values;
    op.outputs = {kv};
    result.push_back(std::move(op));
    return kv;
  }

  void gathered(DraftOp op) {
    const TensorId kv = keys_values(op);
    const TensorId all = add_activation(kv, at(kv).name + ".gathered", {});
    collective(OpKind::all_gather, op.layer, kv, all);
    op.inputs.push_back(all);
    result.push_back(std::move(op));
  }

  void ring(DraftOp op) {
    TensorId block = keys_values(op);
    op.attributes.ring_step = 0;
    op.inputs.push_back(block);
    result.push_back(op);
    op.inputs.insert(op.inputs.end(), op.outputs.begin(), op.outputs.end());
    for (int step = 1; step < degree; ++step) {
      const TensorId next = add_like(draft, block, at(op.outputs[0]).name + ".kv." + std::to_string(step),
                                     at(block).dtype, Category::activation);
      collective(OpKind::permute, op.layer, block, next);
      op.inputs[1] = block = next;
      op.attributes.ring_step = step;
      result.push_back(op);
    }
  }

  void ulysses(DraftOp op) {
    const TensorId qkv = op.inputs[0], o = op.outputs[0];
    const TensorId by_heads = add_activation(qkv, at(qkv).name + ".by_heads", {Kind::shard, 2});
    collective(OpKind::all_to_all, op.layer, qkv, by_heads);
    const TensorId out = add_activation(o, at(o).name + ".by_heads", {Kind::shard, 2});
    op.inputs[0] = by_heads;
    op.outputs[0] = out;
    op.attributes.heads /= degree;
    op.attributes.kv_heads /= degree;
    divide(op.outputs[1], 1);
    const int layer = op.layer;
    result.push_back(std::move(op));
    collective(OpKind::all_to_all, layer, out, o);
  }

  void apply(const DraftOp& op) {
    if (op.kind == OpKind::attention && method == ContextMethod::ulysses) {
      divide(op.outputs[0], 1);
      return ulysses(op);
    }
    divide_tokens(op);
    if (op.kind != OpKind::attention)
      result.push_back(op);
    else if (method == ContextMethod::ring)
      ring(op);
    else
      gathered(op);
  }
};

}  // namespace

void context_parallel(Draft& draft, const Scenario& s) {
  if (s.mesh.degree(Axis::context) == 1) return;
  ContextPass pass{draft, s.mesh.degree(Axis::context), s.strategy.context.method, s.mesh.degree(Axis::tensor), {}};
  for (const DraftOp& op : draft.forward) pass.apply(op);
  draft.forward = std::move(pass.result);
}

}  // namespace trainwire
