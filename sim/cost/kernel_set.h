// What a training framework does differently: how many kernels an operation is, which bytes those move besides the
// operands, and what its host pays. A framework is a row here; README.md has where the numbers come from.
#pragma once
#include "sim/cost/cost.h"

namespace trainwire {

// An operation of this kind, per element of its first input. `bytes`: on top of the operands, intermediate results that
// a fused kernel would keep on chip. kernels 0: it is fused into a neighbour and costs nothing.
struct KernelRow {
  OpKind kind;
  int forward_kernels, backward_kernels;
  double forward_bytes, backward_bytes;
};

struct KernelSet {
  Framework framework;
  const KernelRow* rows;
  int row_count;
  bool scores_in_memory;   // attention writes its scores: products, softmax and dropout one after the other
  double host_s;           // the host's time to launch one kernel: forward in Python,
  double host_backward_s;  // backward in the autograd engine's C++
  double collective_s;     // and to launch a collective or a transfer
  bool transfers_wait;     // the host waits for the device at every send and receive of the pipeline
  double parameter_bytes;  // moved a parameter and step besides the update's operands: unscaling, norm, clipping, casts
  double gradient_bytes;   // moved a parameter and micro-batch: a gradient that is not added to in the product itself
};

const KernelSet& kernel_set(Framework);
const KernelRow& kernel_row(const KernelSet&, OpKind);

// Kernels of one operation, extra bytes included.
struct KernelCost {
  int kernels = 1;
  double bytes = 0;
};
KernelCost kernel_cost(const KernelSet&, const Program&, const Op&);

}  // namespace trainwire
