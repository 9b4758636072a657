// Parameters and flops, counted on the expanded graph.
#include <stdexcept>

#include "sim/model/model.h"

namespace trainwire {
namespace {

const Shape& shape(const Graph& g, int tensor) { return g.tensors[static_cast<std::size_t>(tensor)].shape; }

// 2 flops a multiply-add of the matrix products; the rest of a model is under a percent and is not counted.
// `causal_share`: of the S × S scores that causal attention computes.
double product_flops(const Graph& g, const GraphNode& node, double causal_share) {
  switch (node.kind) {
    case OpKind::linear: {
      const Shape& x = shape(g, node.inputs[0]);
      const double rows = static_cast<double>(x.elements() / x[x.rank - 1]);
      return 2 * rows * static_cast<double>(shape(g, node.parameters[0]).elements());
    }
    case OpKind::expert_linear: {  // a row meets the weights of one expert
      const Shape &x = shape(g, node.inputs[0]), &weight = shape(g, node.parameters[0]);
      return 2 * static_cast<double>(x[0]) * static_cast<double>(weight.elements() / weight[0]);
    }
    case OpKind::conv2d: {
      const double outputs = static_cast<double>(shape(g, node.outputs[0]).elements());
      return 2 * outputs * static_cast<double>(shape(g, node.parameters[0])[1]);
    }
    case OpKind::attention: {  // scores and weighted values: (B, heads, S, S) times d, twice
      const Shape& x = shape(g, node.inputs[0]);
      const double sequence = static_cast<double>(x[1]);
      const double width = static_cast<double>(node.attributes.heads) * node.attributes.head_dim;
      return 2 * 2 * static_cast<double>(x[0]) * sequence * sequence * width *
             (node.attributes.causal ? causal_share : 1.0);
    }
    default:
      return 0;
  }
}

double graph_flops(const Model& model, std::int64_t sequence, double causal_share) {
  Batch batch;
  batch.sequence = sequence;
  const Graph g = expand(model, batch);
  double flops = 0;
  for (const GraphNode& node : g.nodes) flops += product_flops(g, node, causal_share);
  return flops;
}

}  // namespace

std::int64_t parameter_count(const Model& model) {
  Batch batch;
  batch.sequence = model.vision() ? model.cnn.image : 1;
  std::int64_t count = 0;
  for (const GraphTensor& t : expand(model, batch).tensors)
    if (t.parameter) count += t.shape.elements();
  return count;
}

double forward_flops(const Model& model, std::int64_t sequence) { return graph_flops(model, sequence, 0.5); }

double model_flops(const Model& model, std::int64_t sequence, std::int64_t global_batch) {
  return 3 * graph_flops(model, sequence, 1.0) * static_cast<double>(global_batch);
}

}  // namespace trainwire
