// Builds a Graph node by node, in order of execution. Parameters enter the graph where they are first used, weight
// before bias: gradient buckets are formed from the reverse of that order.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sim/model/graph.h"

namespace trainwire {

// How a parameter starts and whether weight decay applies.
struct Init {
  float mean = 0, std = 0;
  bool decay = false;
};
Init weight_init(double std);  // N(0, std), decays
Init constant_init(double value);

class GraphBuilder {
 public:
  void enter(int layer) { layer_ = layer; }
  int tokens(const Shape& shape, DType dtype);  // token ids, images or feature vectors
  int targets(const Shape& shape);
  int parameter(const std::string& name, const Shape& shape, int split, Init init);
  // An operation with one result, named like the module that computes it.
  int op(OpKind kind, const std::string& name, const Shape& result, std::vector<int> inputs,
         std::vector<int> parameters = {}, const Attributes& attributes = {});
  // A second output of the last operation: statistics and the like.
  int also(const std::string& name, const Shape& shape, DType dtype = DType::fp32);

  // x (…,K) · weight (K,N…): split as GraphTensor::split. A bias follows the weight's columns.
  int linear(const std::string& name, int x, const Shape& weight, int split, Init init, bool bias);
  // rows (R,K) routed to `experts`, each with a weight (experts,K,N…) of its own.
  int expert_linear(const std::string& name, int rows, const Shape& weight, int split, Init init);
  // Marks the last result as rows routed to so many experts.
  void routed(int experts) {
    graph_.tensors[static_cast<std::size_t>(graph_.nodes.back().outputs[0])].experts = experts;
  }
  int add(const std::string& name, int x, int y) { return op(OpKind::add, name, shape(x), {x, y}); }
  int relu(const std::string& name, int x) { return op(OpKind::relu, name, shape(x), {x}); }
  // logits (…,V) -> loss (1): maximum, sum of exponentials, cross entropy, as tensor parallelism divides them.
  void loss(int logits, std::int64_t step_rows);

  const Shape& shape(int tensor) const { return graph_.tensors[static_cast<std::size_t>(tensor)].shape; }
  Graph take() { return std::move(graph_); }

 private:
  int tensor(GraphTensor t);

  Graph graph_;
  int layer_ = 0;
};

// `shape` with its last dimension replaced.
Shape with_last(Shape shape, std::int64_t last);

}  // namespace trainwire
