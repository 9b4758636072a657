// How long an operation takes on a device, and how much it computes and moves. README.md has the formulas.
#pragma once
#include <string>
#include <vector>

#include "sim/ops/framework.h"
#include "sim/plan/plan.h"
#include "sim/topology/topology.h"
#include "sim/units/units.h"

namespace trainwire {

// What one operation does, from its operands' shapes alone.
struct Work {
  Flops flops;           // matrix products and attention: 2 a multiply-add; others: a handful an element
  Bytes bytes;           // read and written, each operand once
  bool product = false;  // runs on the matrix units
  std::int64_t m = 0, n = 0, k = 0, count = 1;  // of a product: `count` times C(m,n) = A(m,k) B(k,n)
  ProductForm form = ProductForm::plain;        // how A and B lie in memory
  DType dtype = DType::fp32;                    // of the product's inputs
};
Work work_of(const Program&, const Op&);

// Seconds of a computing operation on a device that does nothing else, with the framework's kernels (GPUs).
// Communication is priced by sim/collective.
Seconds duration(const Program&, const Op&, const DeviceSpec&, Framework = Framework::none);

// What the host of a rank does for an operation in this framework: the time until its kernels are launched, and whether
// it then waits for the device.
struct HostCost {
  Seconds launch;
  bool waits = false;
};
HostCost host_cost(const Program&, const Op&, Framework);

// The numbers a prediction rests on, for Report::provenance.
struct Provenance {
  std::string quantity, value;
  Origin origin;
  std::string source;
};
std::vector<Provenance> provenance(const Topology&);

}  // namespace trainwire
