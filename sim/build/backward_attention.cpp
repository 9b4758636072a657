// Attention backward: over the rank's own tokens, over gathered keys and values, or around a ring of blocks.
#include "sim/build/backward_pass.h"

namespace trainwire {
namespace {

DraftOp& shift(BackwardPass& b, const DraftOp& op, TensorId from, TensorId to) {
  DraftOp& permute = b.emit(op, Role::backward, {from}, {to});
  permute.kind = OpKind::permute;
  permute.stream = Stream::context;
  permute.axis = Axis::context;
  return permute;
}

// Blocks go around again, each followed by its gradient; the rank's own share joins when that has come home.
void ring(BackwardPass& b, const DraftOp& op) {
  const TensorId qkv = op.inputs[0], o = op.outputs[0], lse = op.outputs[1], d_o = b.grad(o);
  TensorId own = op.inputs[1];
  while (b.gathers.contains(own)) own = b.gathers.at(own).inputs[0];
  const TensorId dqkv = b.new_gradient(qkv), own_share = b.new_gradient(own);
  b.emit(op, Role::backward, {d_o, qkv, o, lse, own}, {dqkv, own_share}).attributes.ring_step = 0;
  TensorId block = own, gradient = -1;
  for (int step = 1; step <= op.attributes.ring_step; ++step) {
    const std::string suffix = " again " + std::to_string(step);
    const TensorId next = add_like(b.draft, own, b.at(own).name + suffix, b.at(own).dtype, Category::activation);
    shift(b, op, block, next);
    block = next;
    const TensorId arrived = b.new_gradient(own);
    std::vector<TensorId> in{d_o, qkv, o, lse, block, dqkv};
    if (gradient >= 0) {
      shift(b, op, gradient, arrived);
      in.push_back(arrived);
    }
    gradient = arrived;
    b.emit(op, Role::backward, std::move(in), {dqkv, gradient}).attributes.ring_step = step;
  }
  const TensorId home = b.new_gradient(own);
  shift(b, op, gradient, home);
  b.contribute(op, qkv, dqkv);
  b.contribute(op, own, own_share);
  b.contribute(op, own, home);
}

}  // namespace

// (do, qkv, o, log-sum-exp[, kv]) -> (dqkv[, dkv]); with kv only the part of the queries in dqkv counts
void attention_backward(BackwardPass& b, const DraftOp& op) {
  if (op.attributes.ring_step >= 0) {
    const bool last = b.raw_grad(op.inputs[0]) < 0;  // the first one that is met
    if (last) ring(b, op);
    return;
  }
  const TensorId qkv = op.inputs[0], d_o = b.grad(op.outputs[0]), dqkv = b.new_gradient(qkv);
  std::vector<TensorId> in{d_o, qkv, op.outputs[0], op.outputs[1]}, out{dqkv};
  if (op.inputs.size() > 1) {
    in.push_back(b.saved(op.inputs[1]));
    out.push_back(b.new_gradient(op.inputs[1]));
  }
  b.emit(op, Role::backward, std::move(in), out);
  b.contribute(op, qkv, dqkv);
  if (out.size() > 1) b.contribute(op, op.inputs[1], out[1]);
}

// (dkv, dqkv) -> dqkv with the part of keys and values filled in
void keys_values_backward(BackwardPass& b, const DraftOp& op) {
  const TensorId dqkv = b.grad(op.inputs[0]);
  b.emit(op, Role::backward, {b.grad(op.outputs[0]), dqkv}, {dqkv});
}

}  // namespace trainwire
