// Runs one computing operation of a program on its operands: the table from (kind, role) to kernels.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "backend/cpu/kernels.h"
#include "sim/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace trainwire::cpu {

// What the operands do not tell.
template <class T>
struct OperationContext {
  std::array<int, axis_count> coordinate{};  // of the rank on each axis: where its shards begin
  std::array<int, axis_count> degree{1, 1, 1, 1, 1};
  std::int64_t replica = 0, micro_batches = 1;  // which sequences these are: see input_data
  std::span<const ModelParameter> parameters;   // optimizer: which parameters decay
  OptimizerKind optimizer = OptimizerKind::sgd;
  double learning_rate = 1e-3, weight_decay = 0.01;  // weight decay: PyTorch's AdamW default; adam, sgd, momentum: none
  double gradient_clip = 0;                          // clip: the largest global norm
  std::int64_t step = 1;                             // of the optimizer, from 1
  Workspace<T> workspace;
};

// Operand pointers in the order of the operation's inputs and outputs: T, or int32 where the tensor says so.
// README.md lists what each (kind, role) reads and writes. Throws std::logic_error for a pair that has no kernel.
template <class T>
void run_operation(const Program& program, const Op& op, std::span<void* const> inputs, std::span<void* const> outputs,
                   OperationContext<T>& context);

bool has_kernel(OpKind kind, Role role);

}  // namespace trainwire::cpu
