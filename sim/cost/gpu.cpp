// GPU time of an operation from the device's few numbers. README.md has the formulas and how well they fit.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/cost/duration.h"

namespace trainwire {
namespace {

// A block of C that one multiprocessor computes at a time. `efficiency`: what the tile reaches of the rate of the
// largest one; smaller tiles load more bytes of A and B a flop from the second-level cache.
struct Tile {
  double m, n, efficiency;
};
constexpr Tile tiles[] = {{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.9}, {128, 64, 0.7}, {64, 128, 0.7},
                          {64, 64, 0.5},   {64, 32, 0.3},   {32, 64, 0.3},   {64, 16, 0.15}, {16, 64, 0.15}};
constexpr double splits[] = {1, 2, 4, 8, 16};  // of k, when C has too few tiles to occupy the device
constexpr double fill = 200;                   // columns of k a tile loses to filling its pipeline and writing C
constexpr double overlap_power = 4;            // how sharply mathematics and memory hide each other
// FlashAttention against a large product: Dao 2023 (FlashAttention-2, figures 5-7), forward and backward.
constexpr double attention_efficiency = 0.72, attention_backward = 0.85;
constexpr double attention_head = 24;  // head_dim a product of d columns loses: softmax runs outside the matrix units
constexpr double attention_sequence = 500;  // tokens lost to the diagonal and to filling the pipeline

// Of two times of which the shorter hides behind the longer: at least the longer, and smooth where they meet.
double overlapped(double a, double b) {
  const double longer = std::max(a, b), shorter = std::min(a, b);
  if (longer <= 0) return 0;
  return longer * std::pow(1 + std::pow(shorter / longer, overlap_power), 1 / overlap_power);
}

double matrix_rate(const DeviceSpec& device, DType type) {
  const double peak = device.peak[static_cast<std::size_t>(type)].value.value;
  return peak > 0 ? peak : device.vector_rate.value.value;
}

double stream_rate(const DeviceSpec& device) {
  return device.memory_bandwidth.value.value * device.memory_efficiency.value;
}

// The best tile and split: waves · time of a tile, against the bytes of the operands (and of the partial sums).
double product_seconds(const Work& w, const DeviceSpec& device) {
  const double sms = std::max(1, device.multiprocessors);
  const double rate = matrix_rate(device, w.dtype) * device.product_efficiency.value / sms;
  const double m = static_cast<double>(w.m), n = static_cast<double>(w.n), k = static_cast<double>(w.k);
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : tiles) {
    for (const double split : splits) {
      const double blocks = std::ceil(m / tile.m) * std::ceil(n / tile.n) * split * static_cast<double>(w.count);
      const double depth = std::ceil(k / split) + fill;
      const double compute = std::ceil(blocks / sms) * 2 * tile.m * tile.n * depth / (rate * tile.efficiency);
      const double partial_sums = split > 1 ? 2 * sizeof(float) * m * n * split : 0;
      best = std::min(best, overlapped(compute, (w.bytes.value + partial_sums) / stream_rate(device)));
    }
  }
  return best;
}

double attention_seconds(const Work& w, const Op& op, const DeviceSpec& device) {
  const double d = static_cast<double>(w.k), sequence = static_cast<double>(w.m);
  double efficiency = device.product_efficiency.value * attention_efficiency * d / (d + attention_head) * sequence /
                      (sequence + attention_sequence);
  if (op.role != Role::forward) efficiency *= attention_backward;
  // A block of 128 query rows a head is what keeps one multiprocessor busy.
  const double products = op.role == Role::forward ? 2 : 5;
  const double blocks = std::ceil(sequence / 128) * static_cast<double>(w.count) / products;
  const double occupied = std::min(1.0, blocks / std::max(1, device.multiprocessors));
  return overlapped(w.flops.value / (matrix_rate(device, w.dtype) * efficiency * occupied),
                    w.bytes.value / stream_rate(device));
}

}  // namespace

Seconds gpu_duration(const Program& program, const Op& op, const DeviceSpec& device) {
  const Work w = work_of(program, op);
  double seconds = 0;
  if (op.kind == OpKind::attention) {
    seconds = attention_seconds(w, op, device);
  } else if (w.product) {
    seconds = product_seconds(w, device);
  } else {
    const double rate = device.vector_rate.value.value;
    seconds = overlapped(w.bytes.value / stream_rate(device), rate > 0 ? w.flops.value / rate : 0);
  }
  return Seconds(device.launch.value.value + seconds);
}

}  // namespace trainwire
