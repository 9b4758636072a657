// Attention that keeps its scores on chip (Dao et al. 2022, FlashAttention): blocks of query rows walk over the keys.
#include <algorithm>
#include <cmath>

#include "sim/cost/gpu.h"

namespace trainwire {
namespace {

constexpr double rows = 128;           // of queries, a block
constexpr double least = 32;           // keys of a short sequence are padded to a multiple of this
constexpr double tail = 0.5;           // share of the longest block that does not hide behind the others
constexpr double overlap_power = 1.5;  // mathematics and memory hide each other less than in products
// Backward has 5 products for 2, at this share of their rate: Dao 2023 (FlashAttention-2), figures 5 to 7.
constexpr double backward_products = 2.5, backward_efficiency = 0.85;

}  // namespace

double attention_launch(const DeviceSpec& device) {
  const double own = device.kernels.attention_launch.value.value;
  return own > 0 ? own : device.launch.value.value;
}

double attention_seconds(const AttentionShape& a, const DeviceSpec& device) {
  const KernelNumbers& numbers = device.kernels;
  const double sms = std::max(1, device.multiprocessors);
  double rate = matrix_rate(device, a.dtype) * numbers.attention_efficiency.value / sms;
  if (a.backward) rate *= backward_efficiency / backward_products;
  const double blocks = std::ceil(a.sequence / rows);
  const double keys = std::max(std::ceil((a.keys > 0 ? a.keys : a.sequence) / least) * least, 1.0);
  const double seen = a.causal && blocks > 1 ? std::min(keys, a.visible * keys + rows / 2) : keys;  // by a block, mean
  const double column = 4 * rows * (a.channels + numbers.attention_channels.value) / rate;
  const double balanced = a.batch * a.heads * blocks * (seen + numbers.attention_fill.value) * column / sms;
  const double longest = (keys + numbers.attention_fill.value) * column;
  const double compute = std::max(balanced, longest) + tail * std::min(balanced, longest);
  const double memory = a.bytes / (device.memory_bandwidth.value.value * numbers.attention_memory.value);
  return overlapped(compute, memory, overlap_power);
}

}  // namespace trainwire
