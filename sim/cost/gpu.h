// Times of the two kinds of GPU kernels that dominate training, from their shapes: for duration() and for scoring
// against tables of measured kernels. README.md has the formulas.
#pragma once
#include <cstdint>

#include "sim/topology/device.h"

namespace trainwire {

// `count` times C(m,n) = A(m,k) B(k,n) in one launch. bytes: read and written, each operand once.
struct ProductShape {
  double m = 0, n = 0, k = 0, count = 1;
  double bytes = 0;
  DType dtype = DType::bf16;
  bool settled = false;  // the GPU has been busy for long, as in training: its clock has fallen already
};
// Without the launch.
double product_seconds(const ProductShape&, const DeviceSpec&);

// Attention that keeps its scores on chip, heads of `channels`; forward 2 products, backward 5.
struct AttentionShape {
  double batch = 1, sequence = 0, heads = 0, kv_heads = 0, channels = 0;
  double keys = 0;        // where they are not those of the sequence itself (context parallel); 0: they are
  double visible = 0.5;   // share of the keys that a query sees, where it is causal
  bool causal = true, backward = false;
  double bytes = 0;
  DType dtype = DType::bf16;
};
// Without the launch.
double attention_seconds(const AttentionShape&, const DeviceSpec&);

// Of two times of which the shorter hides behind the longer: at least the longer, and smooth where they meet.
double overlapped(double a, double b, double power);
double matrix_rate(const DeviceSpec&, DType);   // peak, FLOP/s; the vector rate where there are no matrix units
double operand_rate(const DeviceSpec&);         // bytes/s at which products get their operands
double stream_rate(const DeviceSpec&);          // bytes/s of large streams
double attention_launch(const DeviceSpec&);     // seconds

}  // namespace trainwire
