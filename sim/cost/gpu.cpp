// GPU time of an operation from the device's few numbers: which kernel it is, and the launch.
#include "sim/cost/gpu.h"

#include "sim/cost/duration.h"
#include "sim/cost/kernel_set.h"

namespace trainwire {
namespace {

constexpr double streaming_power = 4;  // how sharply vector mathematics and memory hide each other

double attention_seconds(const Program& program, const Op& op, const Work& w, const DeviceSpec& device) {
  const Attributes& attributes = program.attributes[op.attributes];
  const bool forward = op.role == Role::forward;
  AttentionShape a;
  a.backward = !forward;
  a.sequence = static_cast<double>(w.m), a.channels = static_cast<double>(w.k);
  a.heads = attributes.heads, a.kv_heads = attributes.kv_heads;
  a.batch = static_cast<double>(w.count) / (forward ? 2 : 5) / a.heads;
  a.keys = static_cast<double>(w.n);
  a.causal = attributes.causal;
  a.visible = w.flops.value / (2.0 * static_cast<double>(w.m) * static_cast<double>(w.n) * static_cast<double>(w.k) *
                               static_cast<double>(w.count));
  a.bytes = w.bytes.value;
  a.dtype = w.dtype;
  return attention_seconds(a, device);
}

// Scores that go through memory: batched products of S·S·d, then masked softmax and dropout over the S·S scores of
// every head (Korthikanti et al. 2022, section 4.1: what flash attention and selective recomputation do away with).
double unfused_attention_seconds(const Program& program, const Op& op, const Work& w, const DeviceSpec& device) {
  const bool forward = op.role == Role::forward;
  const double products = forward ? 2 : 4, element = bytes_of(w.dtype);
  const double sequence = static_cast<double>(w.m), channels = static_cast<double>(w.k);
  const double heads = static_cast<double>(w.count) / (forward ? 2 : 5);  // of all sequences
  const double scores = heads * sequence * sequence, side = heads * sequence * channels;
  const double bytes = element * (scores + 2 * side);
  const double deep = product_seconds({sequence, sequence, channels, heads, bytes, w.dtype, true}, device);
  const double wide = product_seconds({sequence, channels, sequence, heads, bytes, w.dtype, true}, device);
  // softmax reads and writes (backward: reads two, writes one); dropout the same with a byte of mask
  const double passes = forward ? 4 * element + 1 : 5 * element + 1;
  const double copies = forward ? 4 : 8;  // of queries, keys, values, context between their layouts
  const KernelCost cost = kernel_cost(kernel_set(Framework::megatron_2021), program, op);
  return products / 2 * (deep + wide) + (passes * scores + copies * element * side) / stream_rate(device) +
         device.launch.value.value * (cost.kernels - 1);
}

}  // namespace

Seconds gpu_duration(const Program& program, const Op& op, const DeviceSpec& device, Framework framework) {
  const Work w = work_of(program, op);
  const KernelSet& set = kernel_set(framework);
  const KernelCost cost = kernel_cost(set, program, op);
  if (cost.kernels == 0) return Seconds(0);
  const double extra = cost.bytes / stream_rate(device);
  const double launch = device.launch.value.value * cost.kernels + extra;
  if (op.kind == OpKind::attention && set.scores_in_memory)
    return Seconds(device.launch.value.value + unfused_attention_seconds(program, op, w, device));
  if (op.kind == OpKind::attention)
    return Seconds(attention_launch(device) + extra + attention_seconds(program, op, w, device));
  if (w.product) {
    const auto real = [](std::int64_t size) { return static_cast<double>(size); };
    return Seconds(launch + product_seconds({real(w.m), real(w.n), real(w.k), real(w.count), w.bytes.value, w.dtype,
                                             true},
                                            device));
  }
  const double rate = device.vector_rate.value.value;
  const double mathematics = rate > 0 ? w.flops.value / rate : 0;
  return Seconds(launch + overlapped(w.bytes.value / stream_rate(device), mathematics, streaming_power));
}

}  // namespace trainwire
