// The forward pass of a model for one micro-batch on one rank: operations on tensors, unsplit.
// It knows nothing of strategies; `split` only says along which dimension the mathematics may be divided by tensor.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/ops/ops.h"

namespace trainwire {

struct GraphTensor {
  std::string name;  // "blocks.3.attention.qkv.weight"
  Shape shape;
  bool parameter = false;
  DType dtype = DType::fp32;  // int32 for tokens and indices; every other tensor is real: the plan picks its type
  // Parameters: the dimension that tensor parallelism divides, -1 where every rank keeps the whole.
  // Of a linear's weight (K,N…): 0 is row-parallel, ≥ 1 column-parallel (stored (N,K): the other way round).
  int split = -1;
  float init_std = 0.0F;   // parameters: initial value ~ init_mean + N(0, init_std)
  float init_mean = 0.0F;  // 1 for gains
  bool decay = false;      // weight decay applies (matrices, not gains and biases)
  int experts = 0;         // parameters: dimension 0 are this many experts; activations: rows routed to as many
};

struct GraphNode {
  OpKind kind;
  Attributes attributes;
  std::vector<int> inputs;      // activations, in the order of the kind's definition
  std::vector<int> parameters;  // idem
  std::vector<int> outputs;     // what the kind defines: the result first, then statistics
  int layer = 0;                // index into Model::layers
};

struct Graph {
  std::vector<GraphTensor> tensors;
  std::vector<GraphNode> nodes;  // in order of execution; the last one is the loss
  int tokens = -1;               // input tensor: token ids (B,S) or images (B,C,h,w)
  int targets = -1;              // input tensor: (B,S) or (B), int32
};

}  // namespace trainwire
