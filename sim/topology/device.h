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
  CpuMeasurements cpu;
};

}  // namespace trainwire
