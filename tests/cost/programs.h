// Programs of one operation, built by hand for the tests of this folder.
#pragma once
#include "sim/cost/cost.h"

namespace trainwire {

struct Operand {
  Shape shape;
  DType dtype = DType::bf16;
  Category category = Category::activation;
};

struct OneOperation {
  Program program;
  const Op& op() const { return program.ops[0]; }
  Work work() const { return work_of(program, op()); }
  double seconds(const DeviceSpec& device) const { return duration(program, op(), device).value; }
};

inline OneOperation one_operation(OpKind kind, Role role, const std::vector<Operand>& inputs,
                                  const std::vector<Operand>& outputs, const Attributes& attributes = {}) {
  OneOperation result;
  Program& p = result.program;
  const auto add = [&](const std::vector<Operand>& operands) {
    const Range range{static_cast<std::uint32_t>(p.operands.size()), static_cast<std::uint32_t>(operands.size())};
    for (const Operand& o : operands) {
      Tensor tensor;
      tensor.name = "t" + std::to_string(p.tensors.size());
      tensor.shape = o.shape;
      tensor.dtype = o.dtype;
      tensor.category = o.category;
      p.operands.push_back(static_cast<BufferId>(p.buffers.size()));
      p.buffers.push_back({static_cast<TensorId>(p.tensors.size()), 0});
      p.tensors.push_back(tensor);
    }
    return range;
  };
  Op op;
  op.kind = kind;
  op.role = role;
  op.inputs = add(inputs);
  op.outputs = add(outputs);
  p.attributes = {attributes};
  p.ops = {op};
  return result;
}

inline OneOperation linear_forward(std::int64_t M, std::int64_t N, std::int64_t K, DType type = DType::bf16) {
  return one_operation(OpKind::linear, Role::forward, {{{1, M, K}, type}, {{K, N}, type, Category::parameter}},
                       {{{1, M, N}, type}});
}

// A device with round numbers: 100 TFLOP/s, 1 TB/s, 100 multiprocessors.
inline DeviceSpec round_gpu() {
  DeviceSpec d;
  d.name = "round";
  d.memory_bandwidth.value = Bandwidth(1e12);
  d.memory_efficiency.value = 0.8;
  d.product_efficiency.value = 0.9;
  d.peak[static_cast<std::size_t>(DType::bf16)].value = FlopRate(100e12);
  d.vector_rate.value = FlopRate(10e12);
  d.multiprocessors = 100;
  d.launch.value = Seconds(2e-6);
  return d;
}

}  // namespace trainwire
