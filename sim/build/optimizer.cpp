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

struct States {
  std::vector<const char*> names;
  std::vector<TensorId> moments, masters;

  void add(Draft& d, TensorId parameter) {
    const std::string name = tensor(d, parameter).name;
    for (const char* what : names)
      moments.push_back(add_like(d, parameter, std::string(what) + " " + name, DType::fp32, Category::optimizer));
    if (tensor(d, parameter).dtype != DType::fp32)
      masters.push_back(add_like(d, parameter, "master " + name, DType::fp32, Category::optimizer));
  }
  void append_to(std::vector<TensorId>& outputs) const {
    outputs.insert(outputs.end(), moments.begin(), moments.end());
    outputs.insert(outputs.end(), masters.begin(), masters.end());
  }
};

DraftOp update(int stage, int layer) {
  DraftOp op;
  op.kind = OpKind::optimizer;
  op.role = Role::update;
  op.stage = stage;
  op.layer = layer;
  return op;
}

// Each rank its shard; where all keep all parameters, they get what the others updated.
void update_shards(Draft& d, const Scenario& s) {
  for (const ShardUpdate& shard : d.shards) {
    DraftOp op = update(shard.stage, shard.layer);
    States states{states_of(s.training.optimizer), {}, {}};
    states.add(d, shard.parameter);
    op.inputs = {shard.gradient};
    op.outputs = {shard.parameter};
    states.append_to(op.outputs);
    d.step.push_back({std::move(op), -1});
    if (shard.gather) d.step.push_back({*shard.gather, -1});
  }
}

}  // namespace

void optimizer(Draft& d, const Scenario& s) {
  if (!d.shards.empty()) return update_shards(d, s);
  for (const auto& [place, by_parameter] : gradients(d)) {
    DraftOp op = update(place.first, place.second);
    States states{states_of(s.training.optimizer), {}, {}};
    for (const auto& [index, gradient] : by_parameter) {
      const TensorId parameter = d.parameter_tensor[static_cast<std::size_t>(index)];
      op.inputs.push_back(gradient);
      op.outputs.push_back(parameter);
      states.add(d, parameter);
    }
    states.append_to(op.outputs);
    d.step.push_back({std::move(op), -1});
  }
}

}  // namespace trainwire
