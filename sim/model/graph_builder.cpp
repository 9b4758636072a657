// Building blocks of the families' graphs.
#include "sim/model/graph_builder.h"

namespace trainwire {

Init weight_init(double std) { return {0.0F, static_cast<float>(std), true}; }
Init constant_init(double value) { return {static_cast<float>(value), 0.0F, false}; }

Shape with_last(Shape shape, std::int64_t last) {
  shape[shape.rank - 1] = last;
  return shape;
}

int GraphBuilder::tensor(GraphTensor t) {
  graph_.tensors.push_back(std::move(t));
  return static_cast<int>(graph_.tensors.size()) - 1;
}

int GraphBuilder::tokens(const Shape& shape, DType dtype) {
  GraphTensor t;
  t.name = dtype == DType::int32 ? "tokens" : "inputs";
  t.shape = shape;
  t.dtype = dtype;
  return graph_.tokens = tensor(std::move(t));
}

int GraphBuilder::targets(const Shape& shape) {
  GraphTensor t;
  t.name = "targets";
  t.shape = shape;
  t.dtype = DType::int32;
  return graph_.targets = tensor(std::move(t));
}

int GraphBuilder::parameter(const std::string& name, const Shape& shape, int split, Init init) {
  GraphTensor t;
  t.name = name;
  t.shape = shape;
  t.parameter = true;
  t.split = split;
  t.init_mean = init.mean;
  t.init_std = init.std;
  t.decay = init.decay;
  return tensor(std::move(t));
}

int GraphBuilder::op(OpKind kind, const std::string& name, const Shape& result, std::vector<int> inputs,
                     std::vector<int> parameters, const Attributes& attributes) {
  GraphTensor t;
  t.name = name;
  t.shape = result;
  const int output = tensor(std::move(t));
  graph_.nodes.push_back({kind, attributes, std::move(inputs), std::move(parameters), {output}, layer_});
  return output;
}

int GraphBuilder::also(const std::string& name, const Shape& shape, DType dtype) {
  GraphTensor t;
  t.name = name;
  t.shape = shape;
  t.dtype = dtype;
  const int output = tensor(std::move(t));
  graph_.nodes.back().outputs.push_back(output);
  return output;
}

int GraphBuilder::linear(const std::string& name, int x, const Shape& weight, int split, Init init, bool bias) {
  std::vector<int> parameters{parameter(name + ".weight", weight, split, init)};
  const std::int64_t columns = weight.elements() / weight[0];
  if (bias) {
    const Shape shape = weight.rank == 3 ? Shape{weight[1], weight[2]} : Shape{columns};
    parameters.push_back(parameter(name + ".bias", shape, split >= 1 ? split - 1 : -1, constant_init(0)));
  }
  return op(OpKind::linear, name, with_last(shape(x), columns), {x}, std::move(parameters));
}

int GraphBuilder::expert_linear(const std::string& name, int rows, const Shape& weight, int split, Init init) {
  const int w = parameter(name + ".weight", weight, split, init);
  const int experts = static_cast<int>(weight[0]);
  graph_.tensors[static_cast<std::size_t>(w)].experts = experts;
  const std::int64_t columns = weight.elements() / (weight[0] * weight[1]);
  const int y = op(OpKind::expert_linear, name, with_last(shape(rows), columns), {rows}, {w});
  routed(experts);
  return y;
}

void GraphBuilder::loss(int logits, std::int64_t step_rows) {
  const Shape& wide = shape(logits);
  const std::int64_t rows = wide.elements() / wide[wide.rank - 1];
  const int maximum = op(OpKind::logits_max, "head.max", Shape{rows}, {logits});
  const int sums = op(OpKind::logits_sum, "head.sums", Shape{rows, 2}, {logits, maximum, graph_.targets});
  Attributes attributes;
  attributes.tokens = step_rows;
  op(OpKind::cross_entropy, "loss", Shape{1}, {logits, maximum, sums, graph_.targets}, {}, attributes);
}

}  // namespace trainwire
