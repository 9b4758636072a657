// The backward pass, derived from the forward operations last to first: a table says for each kind what it saves and
// which gradients it yields. Gradients of replicated tensors that leave a split operation are partial sums over the
// tensor axis: the all-reduce that their first reader implies goes in before it (it waits for the gradient alone, so
// that the weight gradient overlaps it). The gradient of an all-gather is a reduce-scatter, and the reverse.
#include <stdexcept>

#include "sim/build/backward_pass.h"
#include "sim/build/passes.h"

namespace trainwire {
namespace {

bool needs_gradient(const Tensor& t) { return t.category != Category::input && t.dtype != DType::int32; }

// linear, conv2d: input gradient first (the stage before waits for it), then the weight's.
void product(BackwardPass& b, const DraftOp& op) {
  const TensorId x = op.inputs[0], weight = op.inputs[1], y = op.outputs[0];
  const bool whole_weight = b.at(weight).placement[tensor_axis].kind == Placement::Kind::replicate;
  const TensorId dy = whole_weight ? b.raw_grad(y) : b.grad(y);
  const TensorId kept = b.saved(x);
  if (needs_gradient(b.at(x))) {
    const TensorId dx = b.new_gradient(x);
    b.emit(op, Role::input_gradient, {dy, weight}, {dx});
    b.leave_partial(op, x, dx);
    b.contribute(op, x, dx);
  }
  std::vector<TensorId> gradients{b.parameter_gradient(weight, y)};
  if (op.inputs.size() > 2) gradients.push_back(b.parameter_gradient(op.inputs[2], y));
  b.emit(op, Role::weight_gradient, {dy, kept}, std::move(gradients));
}

// (dy, x, gain, statistics) -> (dx, dgain[, dbias])
void norm(BackwardPass& b, const DraftOp& op) {
  const TensorId x = op.inputs[0], dx = b.new_gradient(x);
  std::vector<TensorId> out{dx};
  const TensorId dy = b.grad(op.outputs[0]);
  for (std::size_t p = 1; p < op.inputs.size(); ++p) out.push_back(b.parameter_gradient(op.inputs[p], op.outputs[0]));
  b.emit(op, Role::backward, {dy, x, op.inputs[1], op.outputs[1]}, out);
  b.contribute(op, x, dx);
}

// (dy, x) -> (dx)
void from_input(BackwardPass& b, const DraftOp& op) {
  const TensorId x = op.inputs[0], dx = b.new_gradient(x);
  b.emit(op, Role::backward, {b.grad(op.outputs[0]), x}, {dx});
  b.contribute(op, x, dx);
}

// (dy) -> (dx); max_pool adds the index that its forward operation saved
void from_gradient(BackwardPass& b, const DraftOp& op) {
  const TensorId x = op.inputs[0], dx = b.new_gradient(x);
  std::vector<TensorId> in{b.grad(op.outputs[0])};
  if (op.outputs.size() > 1) in.push_back(op.outputs[1]);
  b.emit(op, Role::backward, std::move(in), {dx});
  b.contribute(op, x, dx);
}

void embedding(BackwardPass& b, const DraftOp& op) {
  const TensorId table = b.parameter_gradient(op.inputs[1], op.outputs[0]);
  b.emit(op, Role::backward, {b.grad(op.outputs[0]), op.inputs[0]}, {table});
}

// position, bias: the input's gradient is the result's; (dy) -> (dparameter)
void added_parameter(BackwardPass& b, const DraftOp& op) {
  const TensorId dy = b.grad(op.outputs[0]);
  b.emit(op, Role::backward, {dy}, {b.parameter_gradient(op.inputs[1], op.outputs[0])});
  b.contribute(op, op.inputs[0], dy);
}

void add(BackwardPass& b, const DraftOp& op) {
  const TensorId dy = b.grad(op.outputs[0]);
  for (const TensorId x : op.inputs) b.contribute(op, x, dy);
}

// (logits, max, sums, targets) -> (dlogits)
void cross_entropy(BackwardPass& b, const DraftOp& op) {
  const TensorId dx = b.new_gradient(op.inputs[0]);
  b.emit(op, Role::backward, op.inputs, {dx});
  b.contribute(op, op.inputs[0], dx);
}

void nothing(BackwardPass&, const DraftOp&) {}

// A collective that changes a placement: the gradient goes the way back, (dy) -> (dx).
void returned(BackwardPass& b, const DraftOp& op, OpKind kind) {
  const TensorId x = op.inputs[0], dy = b.raw_grad(op.outputs[0]), dx = b.new_gradient(x);
  if (b.at(dx).placement[tensor_axis].kind == Placement::Kind::partial) tensor(b.draft, dx).placement[tensor_axis] = {};
  if (kind == OpKind::reduce_scatter && op.axis == Axis::tensor && b.partial.erase(dy) == 0)
    throw std::logic_error("every tensor rank has the whole gradient of " + b.at(op.outputs[0]).name);
  if (kind == OpKind::all_to_all && b.partial.erase(dy) > 0) b.mark_partial(op, dx);
  b.emit(op, Role::backward, {dy}, {dx}).kind = kind;
  b.contribute(op, x, dx);
}
void exchanged(BackwardPass& b, const DraftOp& op) { returned(b, op, OpKind::all_to_all); }
void gathered(BackwardPass& b, const DraftOp& op) { returned(b, op, OpKind::reduce_scatter); }
void scattered(BackwardPass& b, const DraftOp& op) { returned(b, op, OpKind::all_gather); }

using Rule = void (*)(BackwardPass&, const DraftOp&);
struct KindRule {
  OpKind kind;
  Rule rule;
};
constexpr KindRule rules[] = {
    {OpKind::embedding, embedding},
    {OpKind::position, added_parameter},
    {OpKind::layer_norm, norm},
    {OpKind::rms_norm, norm},
    {OpKind::linear, product},
    {OpKind::bias, added_parameter},
    {OpKind::rotary, from_gradient},
    {OpKind::attention, attention_backward},
    {OpKind::gelu, from_input},
    {OpKind::swiglu, from_input},
    {OpKind::relu, from_input},
    {OpKind::add, add},
    {OpKind::logits_max, nothing},
    {OpKind::logits_sum, nothing},
    {OpKind::cross_entropy, cross_entropy},
    {OpKind::conv2d, product},
    {OpKind::batch_norm, norm},
    {OpKind::max_pool, from_gradient},
    {OpKind::mean_pool, from_gradient},
    {OpKind::all_reduce, nothing},
    {OpKind::all_gather, gathered},
    {OpKind::reduce_scatter, scattered},
    {OpKind::all_to_all, exchanged},
    {OpKind::permute, nothing},
    {OpKind::keys_values, keys_values_backward},
    {OpKind::router, router_backward},
    {OpKind::dispatch, dispatch_backward},
    {OpKind::expert_linear, expert_linear_backward},
    {OpKind::combine, combine_backward},
    {OpKind::qk_norm, norm},
};

Rule rule_of(OpKind kind) {
  for (const KindRule& r : rules)
    if (r.kind == kind) return r.rule;
  throw std::logic_error("no backward rule for " + std::string(to_text(kind)));
}

}  // namespace

void backward(Draft& draft, const Scenario& s) {
  BackwardPass pass{draft,
                    s.training.grad_dtype,
                    std::vector<TensorId>(draft.tensors.size(), -1),
                    std::vector<TensorId>(draft.parameters.size(), -1),
                    {},
                    {},
                    {}};
  for (std::size_t p = 0; p < draft.parameters.size(); ++p) tensor(draft, draft.parameter_tensor[p]).layer = -1;
  for (const DraftOp& op : draft.forward)
    for (const TensorId t : op.inputs)
      if (tensor(draft, t).category == Category::parameter && tensor(draft, t).layer < 0)
        tensor(draft, t).layer = static_cast<std::int16_t>(op.layer);
  for (const DraftOp& op : draft.forward)
    if (op.kind == OpKind::all_gather || op.kind == OpKind::permute) pass.gathers[op.outputs[0]] = op;
  for (std::size_t i = draft.forward.size(); i-- > 0;) {
    const DraftOp op = draft.forward[i];
    pass.gradient.resize(draft.tensors.size(), -1);
    rule_of(op.kind)(pass, op);
  }
}

}  // namespace trainwire
