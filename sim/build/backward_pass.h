// The state of the backward pass while it goes through the forward operations, last to first, and what its rules share.
#pragma once
#include <map>
#include <vector>

#include "sim/parallel/draft.h"

namespace trainwire {

constexpr auto tensor_axis = static_cast<std::size_t>(Axis::tensor);

struct BackwardPass {
  Draft& draft;
  DType grad_dtype;
  std::vector<TensorId> gradient;             // of activations: by tensor, -1 where there is none yet
  std::vector<TensorId> parameter_gradients;  // by model parameter

  std::map<TensorId, int> partial;      // gradients that are partial sums over the tensor axis -> layer that made them
  std::map<TensorId, DraftOp> gathers;  // results of forward all-gathers
  std::map<TensorId, TensorId> regathered;

  const Tensor& at(TensorId t) { return tensor(draft, t); }
  // The gradient as it was left, perhaps a partial sum.
  TensorId raw_grad(TensorId t) { return gradient[static_cast<std::size_t>(t)]; }
  bool is_partial(TensorId gradient_of) { return partial.contains(raw_grad(gradient_of)); }
  TensorId grad(TensorId t) { return settled(raw_grad(t)); }

  TensorId settled(TensorId g) {
    const auto found = partial.find(g);
    if (found == partial.end()) return g;
    DraftOp reduce;
    reduce.kind = OpKind::all_reduce;
    reduce.role = Role::backward;
    reduce.stream = Stream::tensor;
    reduce.axis = Axis::tensor;
    reduce.layer = found->second;
    reduce.inputs = reduce.outputs = {g};
    draft.backward.push_back(std::move(reduce));
    tensor(draft, g).placement[tensor_axis] = {};
    partial.erase(found);
    return g;
  }

  void mark_partial(const DraftOp& op, TensorId g) {
    tensor(draft, g).placement[tensor_axis] = {Placement::Kind::partial};
    partial[g] = op.layer;
  }

  // An input for use in the backward pass: what was gathered is not kept, but gathered again.
  TensorId saved(TensorId t) {
    const auto made_by = gathers.find(t);
    if (made_by == gathers.end()) return t;
    const auto [entry, fresh] = regathered.try_emplace(t, -1);
    if (fresh) {
      const TensorId again = add_like(draft, t, at(t).name + " again", at(t).dtype, Category::activation);
      entry->second = again;
      const DraftOp gather = made_by->second;
      emit(gather, Role::backward, gather.inputs, {again});
    }
    return entry->second;
  }

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
    const bool both = partial.contains(total) && partial.contains(share);
    const TensorId first = both ? total : settled(total), second = both ? share : settled(share);
    const TensorId sum = new_gradient(of);
    if (both) mark_partial(op, sum);
    emit(op, Role::sum_gradients, {first, second}, {sum}).kind = OpKind::add;
    gradient.resize(draft.tensors.size(), -1);
    gradient[static_cast<std::size_t>(of)] = sum;
  }

  // `of`: the result through which the parameter takes part. Where ranks of the tensor axis have parts of it and the
  // whole parameter, its gradient is a partial sum (see tensor_gradients).
  TensorId parameter_gradient(TensorId parameter, TensorId of) {
    const auto index = static_cast<std::size_t>(at(parameter).parameter);
    TensorId& g = parameter_gradients[index];
    if (g < 0) {
      const TensorId made = add_like(draft, parameter, "grad " + at(parameter).name, grad_dtype, Category::gradient);
      g = made;
      tensor(draft, made).layer = at(parameter).layer;
    }
    const bool in_parts = at(of).placement[tensor_axis].kind == Placement::Kind::shard || is_partial(of);
    if (in_parts && at(parameter).placement[tensor_axis].kind == Placement::Kind::replicate)
      tensor(draft, g).placement[tensor_axis] = {Placement::Kind::partial};
    return g;
  }

  // A split operation leaves the gradient of an input that all ranks have as a partial sum.
  void leave_partial(const DraftOp& op, TensorId input, TensorId share) {
    const bool in_parts =
        at(op.outputs[0]).placement[tensor_axis].kind == Placement::Kind::shard || is_partial(op.outputs[0]);
    if (in_parts && at(input).placement[tensor_axis].kind == Placement::Kind::replicate) mark_partial(op, share);
  }
};

// Rules of operations with a file of their own.
void attention_backward(BackwardPass&, const DraftOp&);
void keys_values_backward(BackwardPass&, const DraftOp&);
void router_backward(BackwardPass&, const DraftOp&);
void dispatch_backward(BackwardPass&, const DraftOp&);
void expert_linear_backward(BackwardPass&, const DraftOp&);
void combine_backward(BackwardPass&, const DraftOp&);

}  // namespace trainwire
