// The backward pass, derived from the forward operations last to first: a table says for each kind what it saves and
// which gradients it yields. Gradients of replicated tensors that leave a split operation are partial sums: the
// all-reduce that this change of placement implies follows at once, so that the weight gradient overlaps it.
#include <stdexcept>

#include "sim/build/passes.h"

namespace trainwire {
namespace {

struct BackwardPass {
  Draft& draft;
  DType grad_dtype;
  std::vector<TensorId> gradient;             // of activations: by tensor, -1 where there is none yet
  std::vector<TensorId> parameter_gradients;  // by model parameter

  const Tensor& at(TensorId t) { return tensor(draft, t); }
  TensorId grad(TensorId t) { return gradient[static_cast<std::size_t>(t)]; }

  DraftOp& emit(const DraftOp& of, Role role, std::vector<TensorId> in, std::vector<TensorId> out) {
    DraftOp op = of;
    op.role = role;
    op.inputs = std::move(in);
    op.outputs = std::move(out);
    draft.backward.push_back(std::move(op));
    return draft.backward.back();
  }

  TensorId new_gradient(TensorId of) {
    return add_like(draft, of, "grad " + at(of).name, at(of).dtype, Category::activation);
  }

  // A reader of `of` has its share of the gradient ready: the first share is kept, later ones are added.
  void contribute(const DraftOp& op, TensorId of, TensorId share) {
    if (gradient.size() < draft.tensors.size()) gradient.resize(draft.tensors.size(), -1);
    TensorId& total = gradient[static_cast<std::size_t>(of)];
    if (total < 0) {
      total = share;
      return;
    }
    const TensorId sum = new_gradient(of);
    emit(op, Role::sum_gradients, {total, share}, {sum}).kind = OpKind::add;
    gradient.resize(draft.tensors.size(), -1);
    gradient[static_cast<std::size_t>(of)] = sum;
  }

  TensorId parameter_gradient(TensorId parameter) {
    const auto index = static_cast<std::size_t>(at(parameter).parameter);
    TensorId& g = parameter_gradients[index];
    if (g < 0) {
      const TensorId made = add_like(draft, parameter, "grad " + at(parameter).name, grad_dtype, Category::gradient);
      g = made;
      tensor(draft, made).layer = at(parameter).layer;
    }
    return g;
  }

  // Input gradients that a tensor-split operation leaves as partial sums of a replicated tensor.
  void settle(const DraftOp& op, TensorId input, TensorId share) {
    constexpr auto axis = static_cast<std::size_t>(Axis::tensor);
    const bool split = at(op.outputs[0]).placement[axis].kind == Placement::Kind::shard;
    const Placement produced = split ? Placement{Placement::Kind::partial} : Placement{};
    if (at(input).placement[axis].kind != Placement::Kind::replicate) return;
    if (transition(produced, {}) != Transition::all_reduce) return;
    DraftOp& reduce = emit(op, Role::backward, {share}, {share});
    reduce.kind = OpKind::all_reduce;
    reduce.stream = Stream::tensor;
    reduce.axis = Axis::tensor;
  }
};

bool needs_gradient(const Tensor& t) { return t.category != Category::input && t.dtype != DType::int32; }

// linear, conv2d: input gradient first (the stage before waits for it), then the weight's.
void product(BackwardPass& b, const DraftOp& op) {
  const TensorId x = op.inputs[0], weight = op.inputs[1], dy = b.grad(op.outputs[0]);
  if (needs_gradient(b.at(x))) {
    const TensorId dx = b.new_gradient(x);
    b.emit(op, Role::input_gradient, {dy, weight}, {dx});
    b.settle(op, x, dx);
    b.contribute(op, x, dx);
  }
  std::vector<TensorId> gradients{b.parameter_gradient(weight)};
  if (op.inputs.size() > 2) gradients.push_back(b.parameter_gradient(op.inputs[2]));
  b.emit(op, Role::weight_gradient, {dy, x}, std::move(gradients));
}

// (dy, x, gain, statistics) -> (dx, dgain[, dbias])
void norm(BackwardPass& b, const DraftOp& op) {
  const TensorId x = op.inputs[0], dx = b.new_gradient(x);
  std::vector<TensorId> out{dx};
  for (std::size_t p = 1; p < op.inputs.size(); ++p) out.push_back(b.parameter_gradient(op.inputs[p]));
  b.emit(op, Role::backward, {b.grad(op.outputs[0]), x, op.inputs[1], op.outputs[1]}, out);
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

// (do, qkv, o, log-sum-exp) -> (dqkv)
void attention(BackwardPass& b, const DraftOp& op) {
  const TensorId qkv = op.inputs[0], dqkv = b.new_gradient(qkv);
  b.emit(op, Role::backward, {b.grad(op.outputs[0]), qkv, op.outputs[0], op.outputs[1]}, {dqkv});
  b.contribute(op, qkv, dqkv);
}

void embedding(BackwardPass& b, const DraftOp& op) {
  const TensorId table = b.parameter_gradient(op.inputs[1]);
  b.emit(op, Role::backward, {b.grad(op.outputs[0]), op.inputs[0]}, {table});
}

// position, bias: the input's gradient is the result's; (dy) -> (dparameter)
void added_parameter(BackwardPass& b, const DraftOp& op) {
  const TensorId dy = b.grad(op.outputs[0]);
  b.emit(op, Role::backward, {dy}, {b.parameter_gradient(op.inputs[1])});
  b.contribute(op, op.inputs[0], dy);
}

void add(BackwardPass& b, const DraftOp& op) {
  for (const TensorId x : op.inputs) b.contribute(op, x, b.grad(op.outputs[0]));
}

// (logits, max, sums, targets) -> (dlogits)
void cross_entropy(BackwardPass& b, const DraftOp& op) {
  const TensorId dx = b.new_gradient(op.inputs[0]);
  b.emit(op, Role::backward, op.inputs, {dx});
  b.contribute(op, op.inputs[0], dx);
}

void nothing(BackwardPass&, const DraftOp&) {}

using Rule = void (*)(BackwardPass&, const DraftOp&);
struct KindRule {
  OpKind kind;
  Rule rule;
};
constexpr KindRule rules[] = {
    {OpKind::embedding, embedding},     {OpKind::position, added_parameter}, {OpKind::layer_norm, norm},
    {OpKind::rms_norm, norm},           {OpKind::linear, product},           {OpKind::bias, added_parameter},
    {OpKind::rotary, from_gradient},    {OpKind::attention, attention},      {OpKind::gelu, from_input},
    {OpKind::swiglu, from_input},       {OpKind::relu, from_input},          {OpKind::add, add},
    {OpKind::logits_max, nothing},      {OpKind::logits_sum, nothing},       {OpKind::cross_entropy, cross_entropy},
    {OpKind::conv2d, product},          {OpKind::batch_norm, norm},          {OpKind::max_pool, from_gradient},
    {OpKind::mean_pool, from_gradient}, {OpKind::all_reduce, nothing},
};

Rule rule_of(OpKind kind) {
  for (const KindRule& r : rules)
    if (r.kind == kind) return r.rule;
  throw std::logic_error("no backward rule for " + std::string(to_text(kind)));
}

}  // namespace

void backward(Draft& draft, const Scenario& s) {
  BackwardPass pass{draft, s.training.grad_dtype, std::vector<TensorId>(draft.tensors.size(), -1),
                    std::vector<TensorId>(draft.parameters.size(), -1)};
  for (std::size_t p = 0; p < draft.parameters.size(); ++p) tensor(draft, draft.parameter_tensor[p]).layer = -1;
  for (const DraftOp& op : draft.forward)
    for (const TensorId t : op.inputs)
      if (tensor(draft, t).category == Category::parameter && tensor(draft, t).layer < 0)
        tensor(draft, t).layer = static_cast<std::int16_t>(op.layer);
  for (std::size_t i = draft.forward.size(); i-- > 0;) {
    const DraftOp op = draft.forward[i];
    pass.gradient.resize(draft.tensors.size(), -1);
    rule_of(op.kind)(pass, op);
  }
}

}  // namespace trainwire
