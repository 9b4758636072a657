// How the measurements of a CPU are looked up: what `calibrate` writes, `duration` reads under the same names.
#pragma once
#include <string>

#include "sim/cost/cost.h"

namespace trainwire {

// The curve of CpuMeasurements::kernels for an operation, "gelu/forward", and its abscissa: the elements of the largest
// operand that is no parameter (optimizer: the elements of all gradients; cross_entropy forward: rows).
std::string kernel_key(const Program&, const Op&);
double kernel_size(const Program&, const Op&);

// Seconds of C(m,n) = A(m,k) B(k,n) in fp32: the rates of the measured products, weighted by nearness in log m, n, k.
double product_seconds(const CpuMeasurements&, ProductForm, std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace trainwire
