// Clipping by the global norm of the gradients (Pascanu et al. 2013, as torch.nn.utils.clip_grad_norm_): every rank
// adds up the squares of what it updates, each element of the model on one rank of a group alone; the groups that share
// the model out sum these; then all gradients are scaled by min(1, limit / (norm + 1e-6)). The update waits for all of
// it. Bytes: one all-reduce of 4 on each axis that divides parameters.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/build/passes.h"

namespace trainwire {
namespace {

// What the ranks of a stage update, by the order of parameters or shards.
std::vector<TensorId> gradients_of(const Draft& d, int stage) {
  std::vector<TensorId> found;
  for (const ShardUpdate& shard : d.shards)
    if (shard.stage == stage) found.push_back(shard.gradient);
  if (!d.shards.empty()) return found;
  std::map<std::int32_t, TensorId> by_parameter;
  for (const DraftOp& op : d.backward)
    for (const TensorId t : op.outputs)
      if (op.stage == stage && tensor(d, t).category == Category::gradient && tensor(d, t).parameter >= 0)
        by_parameter[tensor(d, t).parameter] = t;
  for (const auto& [_, gradient] : by_parameter) found.push_back(gradient);
  return found;
}

std::int32_t parameter_of(const Draft& d, TensorId gradient) {
  const Tensor& t = tensor(d, gradient);
  return t.flat < 0 ? t.parameter : tensor(d, d.flats[static_cast<std::size_t>(t.flat)][0].parameter).parameter;
}

DraftOp operation(OpKind kind, int stage, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
  DraftOp op;
  op.kind = kind;
  op.role = Role::update;
  op.stage = stage;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  return op;
}

}  // namespace

void clip_gradients(Draft& d, const Scenario& s) {
  if (s.training.gradient_clip <= 0) return;
  struct Sum {
    Axis axis;
    Stream stream;
  };
  std::vector<Sum> sums{{Axis::tensor, Stream::tensor}, {Axis::expert, Stream::expert}};
  if (!d.shards.empty()) sums.push_back({Axis::data, Stream::data});
  sums.push_back({Axis::pipeline, Stream::pipeline_send});
  std::erase_if(sums, [&](const Sum& sum) { return s.mesh.degree(sum.axis) == 1; });
  const int message = d.messages++;  // one collective of all stages
  std::set<std::int32_t> counted;
  for (int stage = 0; stage < s.mesh.degree(Axis::pipeline); ++stage) {
    const std::vector<TensorId> gradients = gradients_of(d, stage);
    std::vector<TensorId> own;  // what no earlier stage counts: tied embeddings are kept on two
    for (const TensorId g : gradients)
      if (counted.insert(parameter_of(d, g)).second) own.push_back(g);
    Tensor norm;
    norm.name = "squared norm of the gradients";
    norm.category = Category::workspace;
    norm.shape = norm.global = {1};
    const TensorId squares = add_tensor(d, std::move(norm));
    d.step.push_back({operation(OpKind::squared_norm, stage, own, {squares}), -1});
    for (const Sum& sum : sums) {
      DraftOp reduce = operation(OpKind::all_reduce, stage, {squares}, {squares});
      reduce.stream = sum.stream;
      reduce.axis = sum.axis;
      if (sum.axis == Axis::pipeline) reduce.message = message;
      d.step.push_back({reduce, -1});
    }
    std::vector<TensorId> operands{squares};
    operands.insert(operands.end(), gradients.begin(), gradients.end());
    d.step.push_back({operation(OpKind::clip, stage, operands, gradients), -1});
  }
}

}  // namespace trainwire
