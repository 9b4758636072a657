// Matrix products: tiles in waves over the multiprocessors, against the bytes they move.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/cost/gpu.h"

namespace trainwire {
namespace {

// A block of C that one multiprocessor computes at a time: the shapes of CUTLASS's profiler.
struct Tile {
  double m, n;
};
constexpr Tile tiles[] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {256, 64}, {64, 256}, {64, 64},
                          {64, 32},   {32, 64},   {128, 32},  {16, 64},  {64, 16},  {16, 128}, {128, 16}};
constexpr double splits[] = {1, 2, 3, 4, 6, 8, 16};  // of k, when C has too few tiles to occupy the device
constexpr double overlap_power = 4.5;                // how sharply mathematics and memory hide each other
constexpr double partial_sums = 2.5;                 // passes over the fp32 sums of a split product, each 8 bytes
constexpr double settles = 2e-3;                     // seconds after which a GPU lowers its clock under full load
constexpr double streaming = 1.12;                   // rate of plain streams over that of products' operands

}  // namespace

double overlapped(double a, double b, double power) {
  const double longer = std::max(a, b), shorter = std::min(a, b);
  if (longer <= 0) return 0;
  return longer * std::pow(1 + std::pow(shorter / longer, power), 1 / power);
}

double matrix_rate(const DeviceSpec& device, DType type) {
  const double peak = device.peak[static_cast<std::size_t>(type)].value.value;
  return peak > 0 ? peak : device.vector_rate.value.value;
}

double operand_rate(const DeviceSpec& device) {
  return device.memory_bandwidth.value.value * device.memory_efficiency.value;
}

double stream_rate(const DeviceSpec& device) {
  return device.memory_bandwidth.value.value * std::min(1.0, streaming * device.memory_efficiency.value);
}

double product_seconds(const ProductShape& p, const DeviceSpec& device) {
  const KernelNumbers& numbers = device.kernels;
  const bool fp8 = p.dtype == DType::fp8 && numbers.fp8_efficiency.value > 0;
  const double efficiency = fp8 ? numbers.fp8_efficiency.value : device.product_efficiency.value;
  const double sms = std::max(1, device.multiprocessors);
  const double rate = matrix_rate(device, p.dtype) * efficiency / sms;
  const double loss = numbers.wave_loss.value;
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : tiles) {
    const double area = tile.m * tile.n;
    const double column = area + numbers.tile.value;
    for (const double split : splits) {
      const double blocks = std::ceil(p.m / tile.m) * std::ceil(p.n / tile.n) * split * p.count;
      const double block = 2 * (column * std::ceil(p.k / split) + area * numbers.fill.value) / rate;
      const double waves = loss * std::ceil(blocks / sms) + (1 - loss) * std::max(1.0, blocks / sms);
      const double sums = split > 1 ? partial_sums * 2 * sizeof(float) * p.m * p.n * split * p.count : 0;
      best = std::min(best, overlapped(waves * block, (p.bytes + sums) / operand_rate(device), overlap_power));
    }
  }
  const double fallen = p.settled ? 1 : best / (best + settles);
  return best * (1 + numbers.sustained_loss.value * fallen);
}

}  // namespace trainwire
