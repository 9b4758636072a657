#include "sim/build/passes.h"

namespace trainwire {
namespace {

DType compute_dtype(Precision p) {
  switch (p) {
    case Precision::bf16:
      return DType::bf16;
    case Precision::fp16:
      return DType::fp16;
    case Precision::fp8:
      return DType::bf16;  // activations stay in bf16, the products' inputs are converted
    case Precision::fp32:
    case Precision::tf32:
      break;
  }
  return DType::fp32;
}

// Statistics, log-sum-exps and what the loss is made of stay in fp32 whatever the precision.
bool stays_fp32(const GraphNode& node, std::size_t output) {
  switch (node.kind) {
    case OpKind::logits_max:
    case OpKind::logits_sum:
    case OpKind::cross_entropy:
      return true;
    default:
      return output > 0;
  }
}

void add_graph_tensor(Draft& d, const GraphTensor& g, DType real) {
  Tensor t;
  t.name = g.name;
  t.shape = t.global = g.shape;
  t.dtype = g.dtype == DType::int32 ? DType::int32 : real;
  if (g.experts > 0 && !g.parameter) t.routed = {1, g.experts, g.shape[0], 0};
  if (g.parameter) {
    t.category = Category::parameter;
    t.parameter = static_cast<std::int32_t>(d.parameters.size());
    d.parameters.push_back({g.name, g.shape, g.split, g.init_mean, g.init_std, g.decay, g.experts > 0});
    d.parameter_tensor.push_back(static_cast<TensorId>(d.tensors.size()));
  }
  add_tensor(d, std::move(t));
}

}  // namespace

void lower(Draft& d, const Scenario& s) {
  const std::int64_t rows =
      s.training.global_batch * (s.model.vision() || s.model.family == "mlp" ? 1 : s.training.sequence);
  const Graph graph = expand(s.model, {s.training.micro_batch, s.training.sequence, rows});
  const DType real = compute_dtype(s.training.precision);
  for (const GraphTensor& g : graph.tensors) add_graph_tensor(d, g, real);
  for (const int input : {graph.tokens, graph.targets}) tensor(d, input).category = Category::input;
  for (const GraphNode& node : graph.nodes) {
    DraftOp op;
    op.kind = node.kind;
    op.attributes = node.attributes;
    op.layer = node.layer;
    if (node.kind == OpKind::router) {
      op.attributes.imbalance = static_cast<float>(s.strategy.expert.imbalance);
      op.attributes.routing_seed = static_cast<std::int32_t>(s.strategy.expert.seed);
    }
    op.inputs = node.inputs;
    op.inputs.insert(op.inputs.end(), node.parameters.begin(), node.parameters.end());
    op.outputs = node.outputs;
    for (std::size_t o = 0; o < node.outputs.size(); ++o)
      if (stays_fp32(node, o) && tensor(d, node.outputs[o]).dtype != DType::int32)
        tensor(d, node.outputs[o]).dtype = DType::fp32;
    d.forward.push_back(std::move(op));
  }
  for (const Layer& layer : s.model.layers) d.layers.push_back(layer.name);
  d.piece_of_layer.assign(d.layers.size(), 0);
  for (const DraftOp& op : d.forward)
    for (const TensorId t : op.outputs) tensor(d, t).layer = static_cast<std::int16_t>(op.layer);
}

}  // namespace trainwire
