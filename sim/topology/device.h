// What one device can do, as data: every number with its unit, origin and source.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/ops/ops.h"
#include "sim/units/units.h"

namespace trainwire {

enum class Origin : std::uint8_t { calibrated, datasheet, assumed };
std::string_view to_text(Origin);

// A text that its copies share: the links of all hosts name the same sources.
class SharedText {
 public:
  SharedText() = default;
  SharedText(const char* text) : SharedText(std::string(text)) {}
  SharedText(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}
  const std::string& str() const;
  operator const std::string&() const { return str(); }
  bool empty() const { return str().empty(); }

 private:
  std::shared_ptr<const std::string> text_;
};

template <class T>
struct Sourced {
  T value{};
  Origin origin = Origin::assumed;
  SharedText source;
};

// A measured curve: y at strictly increasing x, interpolated linearly in log x and log y, ends extended by the last
// segment's slope.
struct Curve {
  std::vector<double> x, y;
  double at(double x_value) const;
};

// How the factors of C(m,n) = A(m,k) B(k,n) lie in memory (all row-major): as written, B stored (n,k), A stored (k,m).
enum class ProductForm : std::uint8_t { plain, transposed_b, transposed_a };
std::string_view to_text(ProductForm);

// One measured matrix product on a CPU: C(m,n) = A(m,k) B(k,n), one core.
struct MeasuredProduct {
  ProductForm form;
  std::int64_t m, n, k;
  double seconds;
};

// Times measured by `calibrate` on a CPU with the backend's own kernels. Empty for GPUs.
struct CpuMeasurements {
  std::vector<MeasuredProduct> products;        // one rank alone
  std::map<std::string, Curve> kernels;         // "gelu/forward" …: seconds by elements of the first input
  Seconds operation_overhead;                   // scheduling one operation
  std::map<std::string, Curve> messages;        // "shared-memory", "tcp": seconds one way by bytes
  Curve reduction;                              // seconds to add n bytes of fp32 into another buffer
  int cores = 0;                                // that ranks share
  double core_sharing = 1.0;                    // slowdown of two ranks on two cores against one alone, ≥ 1
  bool empty() const { return products.empty(); }
};

// What the time of a matrix product or of attention on a GPU follows besides rates: sim/cost/README.md has the formulas.
struct KernelNumbers {
  Sourced<double> fill{150, Origin::assumed, "as on A100 and H100"};       // columns of k a tile loses at its ends
  Sourced<double> tile{2500, Origin::assumed, "as on A100 and H100"};      // multiply-adds a tile loses a column of k
  Sourced<double> wave_loss{0.5, Origin::assumed, "as on A100 and H100"};  // of a partly filled wave, in [0,1]
  Sourced<double> sustained_loss{0, Origin::assumed, "not given: none"};   // of the rate, in products of milliseconds
  Sourced<double> fp8_efficiency{0, Origin::assumed, "not given: product_efficiency"};  // of peak fp8
  Sourced<double> attention_efficiency{0.75, Origin::assumed, "as on A100 and H100"};   // of peak
  Sourced<double> attention_channels{30, Origin::assumed, "as on A100 and H100"};  // softmax, as channels of a head
  Sourced<double> attention_fill{40, Origin::assumed, "as on A100 and H100"};      // columns a block of rows loses
  Sourced<double> attention_memory{0.5, Origin::assumed, "as on A100 and H100"};   // of memory_bandwidth
  Sourced<Seconds> attention_launch;  // of one call; 0: launch
};

struct DeviceSpec {
  std::string name;  // "h100-sxm"
  enum class Kind { gpu, cpu } kind = Kind::gpu;
  Sourced<Bytes> memory;
  Sourced<Bandwidth> memory_bandwidth;
  std::array<Sourced<FlopRate>, dtype_count> peak;  // dense matrix-product rate by input type; 0: not supported
  Sourced<FlopRate> vector_rate;                    // fp32 outside the matrix units
  int multiprocessors = 0;                          // SMs
  Sourced<double> product_efficiency;               // of peak, large matrix products, in (0,1]
  Sourced<double> memory_efficiency;                // of memory_bandwidth, large streams, in (0,1]
  Sourced<Seconds> launch;                          // one kernel
  Sourced<double> communication_slowdown;           // share of the device that running communication takes, [0,1)
  KernelNumbers kernels;                            // GPUs
  CpuMeasurements cpu;
};

}  // namespace trainwire
