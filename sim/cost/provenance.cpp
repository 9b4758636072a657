// The numbers of a topology that durations and transfers rest on, each once, with where it comes from.
#include <fmt/format.h>

#include <set>

#include "sim/cost/cost.h"

namespace trainwire {
namespace {

// Appends unless the device lacks the number or it was listed already.
class List {
 public:
  template <class T>
  void add(const std::string& quantity, const Sourced<T>& number) {
    if constexpr (std::is_same_v<T, double>) {
      if (number.value > 0) append(quantity, fmt::format("{:.4g}", number.value), number.origin, number.source);
    } else {
      if (number.value.value > 0) append(quantity, to_text(number.value), number.origin, number.source);
    }
  }
  void append(const std::string& quantity, const std::string& value, Origin origin, const std::string& source) {
    if (seen_.insert(quantity + value).second) rows_.push_back({quantity, value, origin, source});
  }
  std::vector<Provenance> take() { return std::move(rows_); }

 private:
  std::set<std::string> seen_;
  std::vector<Provenance> rows_;
};

void add_device(List& list, const DeviceSpec& d) {
  const std::string of = d.name + ": ";
  list.add(of + "memory", d.memory);
  list.add(of + "memory bandwidth", d.memory_bandwidth);
  list.add(of + "memory efficiency", d.memory_efficiency);
  if (d.kind == DeviceSpec::Kind::cpu && !d.cpu.empty()) {
    const std::string rows = fmt::format("{} matrix products, {} kernels", d.cpu.products.size(), d.cpu.kernels.size());
    list.append(of + "kernel times", rows, Origin::calibrated, "trainwire calibrate");
    list.append(of + "operation overhead", to_text(d.cpu.operation_overhead), Origin::calibrated,
                "trainwire calibrate");
    return;
  }
  for (int t = 0; t < dtype_count; ++t)
    list.add(fmt::format("{}peak {}", of, to_text(static_cast<DType>(t))), d.peak[static_cast<std::size_t>(t)]);
  list.add(of + "vector rate", d.vector_rate);
  list.add(of + "product efficiency", d.product_efficiency);
  list.add(of + "launch", d.launch);
  list.add(of + "communication slowdown", d.communication_slowdown);
}

}  // namespace

std::vector<Provenance> provenance(const Topology& topology) {
  List list;
  for (const DeviceSpec& spec : topology.specs) add_device(list, spec);
  for (const Link& link : topology.links) {
    const std::string of = fmt::format("link {}: ", to_text(link.kind));
    list.add(of + "bandwidth", link.bandwidth);
    list.add(of + "latency", link.latency);
    list.add(of + "efficiency", link.efficiency);
  }
  return list.take();
}

}  // namespace trainwire
