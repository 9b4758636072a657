// The machine file of a GPU is one that simulate can read, with what was measured.
#include "backend/cuda/calibrate.h"
#include "sim/topology/topology.h"
#include "tests/scenarios.h"
#include "tests/test.h"

using namespace trainwire;

TEST_CASE("the machine file that calibrate writes for a GPU loads as a topology") {
  cuda::GpuMeasurements m;
  m.facts.name = "NVIDIA H200";
  m.facts.versions = "CUDA 13.0";
  m.facts.memory_bytes = 140e9;
  m.facts.multiprocessors = 132;
  for (const auto& [type, tf32] : {std::pair{cuda::Type::bf16, false}, std::pair{cuda::Type::fp16, false},
                                   std::pair{cuda::Type::fp32, true}, std::pair{cuda::Type::fp32, false}})
    m.products.push_back({type, tf32, 4096, 4096, 4096, 2e-4});
  m.copy_bandwidth = 4e12;
  m.kernel_bandwidth = 3e12;
  m.vector_rate = 1e13;
  m.launch_s = 2e-6;
  m.upload_bandwidth = m.download_bandwidth = 2e10;
  Problems problems;
  const Value file = read_text(cuda::to_yaml(m, "2026-12-01 12:00", 2), "this-machine.yaml", problems);
  const Topology topology = load_topology(file, ".", problems);
  problems.throw_if_any();
  REQUIRE(topology.devices.size() == 2);
  const DeviceSpec& gpu = topology.spec(0);
  CHECK(gpu.multiprocessors == 132);
  CHECK(gpu.memory_bandwidth.value.value == Approx(4e12));
  CHECK(gpu.memory_efficiency.value == Approx(0.75));
  CHECK(gpu.launch.value.value == Approx(2e-6));
  // 2 · 4096³ flops in 0.2 ms; four digits are written
  CHECK(gpu.peak[static_cast<std::size_t>(DType::bf16)].value.value ==
        Approx(2 * 4096.0 * 4096 * 4096 / 2e-4).epsilon(1e-3));
  CHECK(gpu.launch.origin == Origin::calibrated);
}
