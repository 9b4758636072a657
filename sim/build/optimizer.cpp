// The update: one operation a stage and layer on all its parameters. Reads gradients; changes parameters, then states
// (momentum: m; adam: m, v per parameter), then fp32 master weights where the parameters are of another type.
#include <map>

#include "sim/build/passes.h"

namespace trainwire {
namespace {

std::vector<const char*> states_of(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::sgd:
      return {};
    case OptimizerKind::momentum:
      return {"momentum"};
    case OptimizerKind::adam:
    case OptimizerKind::adamw:
      break;
  }
  return {"first moment", "second moment"};
}

// Gradients by stage, layer and parameter.
std::map<std::pair<int, int>, std::map<std::int32_t, TensorId>> gradients(const Draft& d) {
  std::map<std::pair<int, int>, std::map<std::int32_t, TensorId>> found;
  for (const DraftOp& op : d.backward)
    for (const TensorId t : op.outputs)
      if (tensor(d, t).category == Category::gradient)
        found[{op.stage, tensor(d, t).layer}][tensor(d, t).parameter] = t;
  return found;
}

}  // namespace

void optimizer(Draft& d, const Scenario& s) {
  const auto states = states_of(s.training.optimizer);
  for (const auto& [place, by_parameter] : gradients(d)) {
    DraftOp op;
    op.kind = OpKind::optimizer;
    op.role = Role::update;
    op.stage = place.first;
    op.layer = place.second;
    std::vector<TensorId> masters;
    std::vector<TensorId> state;
    for (const auto& [index, gradient] : by_parameter) {
      const TensorId parameter = d.parameter_tensor[static_cast<std::size_t>(index)];
      const std::string name = tensor(d, parameter).name;
      op.inputs.push_back(gradient);
      op.outputs.push_back(parameter);
      for (const char* what : states)
        state.push_back(add_like(d, parameter, std::string(what) + " " + name, DType::fp32, Category::optimizer));
      if (tensor(d, parameter).dtype != DType::fp32)
        masters.push_back(add_like(d, parameter, "master " + name, DType::fp32, Category::optimizer));
    }
    op.outputs.insert(op.outputs.end(), state.begin(), state.end());
    op.outputs.insert(op.outputs.end(), masters.begin(), masters.end());
    d.step.push_back({std::move(op), -1});
  }
}

}  // namespace trainwire
