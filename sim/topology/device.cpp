// Reads a device's file and checks it.
#include "sim/topology/device.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/config/data_dir.h"
#include "sim/topology/cpu_measurements.h"
#include "sim/topology/locate.h"
#include "sim/topology/sourced.h"

namespace trainwire {

std::string_view to_text(Origin origin) {
  switch (origin) {
    case Origin::calibrated:
      return "calibrated";
    case Origin::datasheet:
      return "datasheet";
    case Origin::assumed:
      return "assumed";
  }
  return "?";
}

const std::string& SharedText::str() const {
  static const std::string none;
  return text_ ? *text_ : none;
}

double Curve::at(double x_value) const {
  if (x.empty() || x.size() != y.size()) throw std::logic_error("a curve without points was asked for a value");
  if (x.size() == 1) return y[0];
  const auto upper = std::upper_bound(x.begin(), x.end(), x_value) - x.begin();
  const auto i =
      static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(upper, 1, static_cast<std::ptrdiff_t>(x.size()) - 1));
  const double slope = std::log(y[i] / y[i - 1]) / std::log(x[i] / x[i - 1]);
  return y[i - 1] * std::exp(slope * std::log(x_value / x[i - 1]));
}

namespace {

void read_peak(Reader& device, DeviceSpec& spec) {
  const Value* map = device.raw("peak");
  if (!map) return device.fail("peak", "is missing", "Example: {bf16: {value: 989.4 TFLOP/s, datasheet: \"…\"}}");
  Reader peak(*map, device.path("peak"), device.problems());
  for (int i = 0; i < dtype_count; ++i) {
    const auto type = static_cast<DType>(i);
    if (type != DType::int32)
      spec.peak[static_cast<std::size_t>(i)] = optional_quantity<FlopRate>(peak, std::string(to_text(type)));
  }
  peak.finish();
}

// `product` and `attention`: what is not given keeps its default.
void read_kernels(Reader& device, KernelNumbers& k, Problems& problems) {
  const Value nothing;
  const Value *product = device.raw("product"), *attention = device.raw("attention");
  Reader p(product == nullptr ? nothing : *product, device.path("product"), problems);
  k.fill = optional_number(p, "fill", k.fill, 0, 2000);
  k.tile = optional_number(p, "tile", k.tile, 0, 16384);
  k.wave_loss = optional_number(p, "wave_loss", k.wave_loss, 0, 1);
  k.sustained_loss = optional_number(p, "sustained_loss", k.sustained_loss, 0, 0.5);
  k.fp8_efficiency = optional_number(p, "fp8_efficiency", k.fp8_efficiency, 0.01, 1);
  p.finish();
  Reader a(attention == nullptr ? nothing : *attention, device.path("attention"), problems);
  k.attention_efficiency = optional_number(a, "efficiency", k.attention_efficiency, 0.01, 1);
  k.attention_channels = optional_number(a, "channels", k.attention_channels, 0, 512);
  k.attention_fill = optional_number(a, "fill", k.attention_fill, 0, 2000);
  k.attention_memory = optional_number(a, "memory", k.attention_memory, 0.01, 1);
  k.attention_launch = optional_quantity<Seconds>(a, "launch");
  a.finish();
}

DeviceSpec read_device(const Value& value, const std::string& path, Problems& problems) {
  DeviceSpec spec;
  Reader device(value, path, problems);
  const Sourced<double> whole{1.0, Origin::assumed, "not given: all of it"};
  spec.name = device.require_text("name");
  spec.kind = device.choice("kind", {"gpu", "cpu"}, "gpu") == "cpu" ? DeviceSpec::Kind::cpu : DeviceSpec::Kind::gpu;
  spec.memory = require_quantity<Bytes>(device, "memory");
  spec.memory_bandwidth = require_quantity<Bandwidth>(device, "memory_bandwidth");
  read_peak(device, spec);
  spec.vector_rate = require_quantity<FlopRate>(device, "vector_rate");
  spec.multiprocessors =
      static_cast<int>(optional_number(device, "multiprocessors", {1, Origin::assumed, ""}, 1, 1e5).value);
  spec.product_efficiency = optional_number(device, "product_efficiency", whole, 0.01, 1.0);
  spec.memory_efficiency = optional_number(device, "memory_efficiency", whole, 0.01, 1.0);
  spec.launch = require_quantity<Seconds>(device, "launch");
  spec.communication_slowdown =
      optional_number(device, "communication_slowdown", {0.0, Origin::assumed, "not given: none"}, 0.0, 0.99);
  read_kernels(device, spec.kernels, problems);
  if (const Value* cpu = device.raw("cpu")) spec.cpu = read_cpu_measurements(*cpu, problems);
  device.finish();
  return spec;
}

}  // namespace

DeviceSpec load_device(const Value& value, const std::filesystem::path& base, Problems& problems) {
  if (value.kind == Value::Kind::map) return read_device(value, "", problems);
  Located file = locate(value, "topologies/gpu", "gpu", base, problems);
  if (!file.found) return {};
  return read_device(file.value, "", problems);
}

}  // namespace trainwire
