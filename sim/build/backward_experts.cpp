// Mixtures of experts backward. With tensor parallelism the rows that experts return are partial sums, hence so are the
// gradients of the router's weights and of what is dispatched: all of them settle in one all-reduce of the layer's
// input.
#include "sim/build/backward_pass.h"

namespace trainwire {

// (dy, rows, weights, experts) -> (drows, dweights)
void combine_backward(BackwardPass& b, const DraftOp& op) {
  const TensorId rows = op.inputs[0], weights = op.inputs[1], dy = b.grad(op.outputs[0]);
  const TensorId drows = b.new_gradient(rows), dweights = b.new_gradient(weights);
  const bool partial_rows = b.at(rows).placement[tensor_axis].kind == Placement::Kind::partial;
  tensor(b.draft, drows).placement[tensor_axis] = {};
  b.emit(op, Role::backward, {dy, rows, weights, op.inputs[2]}, {drows, dweights});
  if (partial_rows) b.mark_partial(op, dweights);
  b.contribute(op, rows, drows);
  b.contribute(op, weights, dweights);
}

// Input gradient (dy, weight) -> dx; weight gradient (dy, x) -> dweight
void expert_linear_backward(BackwardPass& b, const DraftOp& op) {
  const TensorId x = op.inputs[0], weight = op.inputs[1], dy = b.grad(op.outputs[0]), dx = b.new_gradient(x);
  b.emit(op, Role::input_gradient, {dy, weight}, {dx});
  b.leave_partial(op, x, dx);
  b.contribute(op, x, dx);
  b.emit(op, Role::weight_gradient, {dy, x}, {b.parameter_gradient(weight, op.outputs[0])});
}

// (drows, experts) -> dx
void dispatch_backward(BackwardPass& b, const DraftOp& op) {
  const TensorId x = op.inputs[0], drows = b.raw_grad(op.outputs[0]), dx = b.new_gradient(x);
  b.emit(op, Role::backward, {drows, op.inputs[1]}, {dx});
  if (b.partial.erase(drows) > 0) b.mark_partial(op, dx);
  b.contribute(op, x, dx);
}

// (dweights, weights, experts) -> dlogits
void router_backward(BackwardPass& b, const DraftOp& op) {
  const TensorId logits = op.inputs[0], dweights = b.raw_grad(op.outputs[0]), dlogits = b.new_gradient(logits);
  b.emit(op, Role::backward, {dweights, op.outputs[0], op.outputs[1]}, {dlogits});
  if (b.partial.erase(dweights) > 0) b.mark_partial(op, dlogits);
  b.contribute(op, logits, dlogits);
}

}  // namespace trainwire
