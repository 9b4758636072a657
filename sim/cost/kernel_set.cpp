#include "sim/cost/kernel_set.h"

#include <iterator>

namespace trainwire {
namespace {

// Megatron-LM of 2021 (SC21; also Megatron-DeepSpeed): bias+GELU and bias+dropout+add compiled into one kernel each,
// layer norm fused, dropout everywhere, the loss in fp32 step by step.
constexpr KernelRow megatron_2021_rows[] = {
    {OpKind::embedding, 4, 2, 5, 5},      {OpKind::position, 1, 2, 0, 0}, {OpKind::layer_norm, 1, 2, 0, 2},
    {OpKind::linear, 1, 1, 0, 0},         {OpKind::bias, 0, 1, 0, 0},     {OpKind::attention, 8, 12, 0, 0},
    {OpKind::gelu, 1, 2, 0, 2},           {OpKind::add, 1, 3, 1, 7},      {OpKind::logits_max, 3, 0, 6, 0},
    {OpKind::logits_sum, 4, 0, 40, 0},    {OpKind::cross_entropy, 6, 4, 0, 35},
    {OpKind::optimizer, 8, 0, 0, 0},
};

// Megatron-Core with Transformer Engine: fused attention, norms, SwiGLU, rotary and loss; gradients are added to in the
// product; the pipeline overlaps its transfers.
constexpr KernelRow megatron_core_rows[] = {
    {OpKind::embedding, 3, 2, 2, 2}, {OpKind::layer_norm, 1, 2, 0, 0}, {OpKind::rms_norm, 1, 2, 0, 0},
    {OpKind::linear, 1, 1, 0, 0},    {OpKind::bias, 0, 1, 0, 0},       {OpKind::attention, 2, 3, 0, 0},
    {OpKind::add, 1, 1, 0, 0},       {OpKind::cross_entropy, 4, 2, 8, 4}, {OpKind::optimizer, 4, 0, 0, 0},
};

// PyTorch with FSDP and flash attention; elementwise chains partly fused by torch.compile.
constexpr KernelRow pytorch_rows[] = {
    {OpKind::embedding, 2, 2, 0, 0},      {OpKind::rms_norm, 2, 3, 4, 6},  {OpKind::layer_norm, 1, 2, 0, 2},
    {OpKind::rotary, 3, 3, 4, 4},         {OpKind::swiglu, 2, 3, 1, 2},    {OpKind::linear, 1, 1, 0, 0},
    {OpKind::attention, 4, 5, 0, 0},      {OpKind::gelu, 1, 1, 0, 0},      {OpKind::add, 1, 1, 0, 0},
    {OpKind::logits_max, 2, 0, 4, 0},     {OpKind::logits_sum, 2, 0, 8, 0}, {OpKind::cross_entropy, 3, 3, 4, 8},
    {OpKind::optimizer, 4, 0, 0, 0},
};

template <std::size_t n>
constexpr KernelSet set(Framework framework, const KernelRow (&rows)[n], bool scores_in_memory, double host_s,
                        double host_backward_s, double collective_s, bool transfers_wait, double parameter_bytes, double gradient_bytes) {
  return {framework, rows, static_cast<int>(n), scores_in_memory, host_s, host_backward_s,
          collective_s, transfers_wait, parameter_bytes, gradient_bytes};
}

constexpr KernelSet sets[] = {
    {Framework::none, nullptr, 0, false, 0, 0, 0, false, 0, 0},
    set(Framework::megatron_2021, megatron_2021_rows, true, 81e-6, 13e-6, 50e-6, true, 4, 4),
    set(Framework::megatron_core, megatron_core_rows, false, 12e-6, 6e-6, 20e-6, false, 4, 0),
    set(Framework::pytorch, pytorch_rows, false, 15e-6, 6e-6, 30e-6, false, 8, 0),
    set(Framework::deepspeed, megatron_2021_rows, true, 81e-6, 13e-6, 50e-6, true, 4, 4),
};

constexpr KernelRow one_kernel{OpKind::add, 1, 1, 0, 0};

double elements(const Program& program, BufferId b) { return static_cast<double>(program.tensor(b).shape.elements()); }

}  // namespace

const KernelSet& kernel_set(Framework framework) {
  for (const KernelSet& s : sets)
    if (s.framework == framework) return s;
  return sets[0];
}

const KernelRow& kernel_row(const KernelSet& set, OpKind kind) {
  for (int i = 0; i < set.row_count; ++i)
    if (set.rows[i].kind == kind) return set.rows[i];
  return one_kernel;
}

KernelCost kernel_cost(const KernelSet& set, const Program& program, const Op& op) {
  if (is_communication(op.kind)) return {};
  const KernelRow& row = kernel_row(set, op.kind);
  KernelCost cost;
  if (op.kind == OpKind::optimizer) {
    for (const BufferId b : program.inputs(op)) cost.bytes += set.parameter_bytes * elements(program, b);
    cost.kernels = row.forward_kernels;
    return cost;
  }
  const bool forward = op.role == Role::forward;
  cost.kernels = forward ? row.forward_kernels : row.backward_kernels;
  cost.bytes = (forward ? row.forward_bytes : row.backward_bytes) * elements(program, program.inputs(op)[0]);
  if (op.role == Role::weight_gradient && set.gradient_bytes > 0) {
    cost.bytes += set.gradient_bytes * elements(program, program.outputs(op)[0]);
    ++cost.kernels;
  }
  return cost;
}

HostCost host_cost(const Program& program, const Op& op, Framework framework) {
  const KernelSet& set = kernel_set(framework);
  HostCost cost;
  const double a_kernel = op.role == Role::forward || op.role == Role::update ? set.host_s : set.host_backward_s;
  cost.launch =
      Seconds(is_communication(op.kind) ? set.collective_s : a_kernel * kernel_cost(set, program, op).kernels);
  cost.waits = set.transfers_wait && is_point_to_point(op.kind);
  return cost;
}

}  // namespace trainwire
