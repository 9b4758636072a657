// The data files that ship: each number with unit and source, and the figures that the datasheets print.
#include <filesystem>

#include "sim/config/data_dir.h"
#include "sim/config/value.h"
#include "tests/topology/support.h"

using namespace trainwire;

namespace {

DeviceSpec device_of(const std::string& name) {
  Problems problems;
  const DeviceSpec spec = load_device(read_text(name, "test.yaml", problems), ".", problems);
  problems.throw_if_any();
  return spec;
}

double peak(const DeviceSpec& spec, DType type) { return spec.peak[static_cast<std::size_t>(type)].value.value; }

}  // namespace

TEST_CASE("every GPU file loads; each of its numbers is positive and says where it is from") {
  const auto names = names_in("topologies/gpu", {".yaml"});
  CHECK(names.size() >= 10);
  for (const auto& name : names) {
    CAPTURE(name);
    const DeviceSpec spec = device_of(name);
    CHECK(spec.name == name);
    CHECK(spec.multiprocessors > 1);
    CHECK(spec.memory.value.value > 0);
    const auto sourced = [](const auto& number) { return !number.source.empty(); };
    CHECK(sourced(spec.memory));
    CHECK(sourced(spec.memory_bandwidth));
    CHECK(sourced(spec.vector_rate));
    CHECK(sourced(spec.launch));
    CHECK(sourced(spec.product_efficiency));
    CHECK(sourced(spec.memory_efficiency));
    CHECK(sourced(spec.communication_slowdown));
    for (const auto& rate : spec.peak) CHECK(sourced(rate) == (rate.value.value > 0));
    CHECK(peak(spec, DType::fp16) >= peak(spec, DType::fp32));
  }
}

TEST_CASE("every topology file loads, for one node and for two, with sources on all links") {
  for (const auto& name : names_in("topologies", {".yaml"})) {
    if (name == "this-machine") continue;  // written by `calibrate`
    CAPTURE(name);
    const Topology t = topology_of("{use: " + name + ", nodes: 2}");
    CHECK(t.nodes == 2);
    CHECK(topology_of(name).devices.size() * 2 == t.devices.size());
    for (const Link& link : t.links) {
      CAPTURE(link.name);
      CHECK(link.effective() > 0);
      CHECK(link.effective() <= link.bandwidth.value.value);
      CHECK_FALSE(link.bandwidth.source.empty());
      CHECK_FALSE(link.latency.source.empty());
      CHECK_FALSE(link.efficiency.source.empty());
    }
  }
}

TEST_CASE("peaks are the dense ones of the datasheets") {
  CHECK(peak(device_of("v100-sxm2-16gb"), DType::fp16) == Approx(125e12));
  CHECK(peak(device_of("v100-sxm2-16gb"), DType::bf16) == 0);
  CHECK(peak(device_of("a100-sxm-80gb"), DType::bf16) == Approx(312e12));
  // Tensor core rate of H100: 132 SMs x 4096 flops a clock x 1.83 GHz; the whitepaper's 989.4 TFLOP/s
  CHECK(peak(device_of("h100-sxm"), DType::bf16) == Approx(132 * 4096 * 1.83e9).epsilon(0.001));
  CHECK(peak(device_of("h100-sxm"), DType::fp8) == Approx(2 * peak(device_of("h100-sxm"), DType::bf16)).epsilon(0.001));
  CHECK(device_of("h200").memory.value.value == Approx(141e9));
}

TEST_CASE("fp8 stays unsupported before Hopper and Ada") {
  for (const auto* name : {"v100-sxm2-32gb", "a100-sxm-40gb", "rtx-3090"})
    CHECK(peak(device_of(name), DType::fp8) == 0);
}

TEST_CASE("a curve passes through its points and is straight in log-log between and beyond them") {
  const Curve curve{{1, 10, 100}, {2, 20, 20}};
  CHECK(curve.at(10) == Approx(20));
  CHECK(curve.at(5) == Approx(10));    // slope 1
  CHECK(curve.at(50) == Approx(20));   // slope 0
  CHECK(curve.at(0.5) == Approx(1));   // first segment's slope
  CHECK(curve.at(1e6) == Approx(20));  // last segment's slope
}
