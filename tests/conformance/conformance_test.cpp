// Every operation on every executor that is there, against the CPU backend in fp64.
#include <cstdio>
#include <set>

#include "backend/cuda/host/device.h"
#include "backend/cuda/load.h"
#include "tests/conformance/bench.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::test;

namespace {

// fp32: rounding of sums over a few hundred terms. bf16 and fp16: a result is rounded to half a unit of 2^-8 or 2^-11,
// and attention rounds its probabilities too.
constexpr test::Precision host_precisions[] = {
    {"fp64", DType::fp64, DType::fp64, 1e-12},
    {"fp32", DType::fp32, DType::fp32, 1e-5},
    {"bf16", DType::bf16, DType::fp32, 1.5e-2},
    {"fp16", DType::fp16, DType::fp32, 2e-3},
    {"bf16, gradients too", DType::bf16, DType::bf16, 1.5e-2},
    {"fp16, gradients too", DType::fp16, DType::fp16, 2e-3},
};

void check_all(cuda::Device& device, const test::Precision& precision, const char* executor) {
  for (const Outcome& o : run_all(device, precision)) {
    CAPTURE(executor, precision.name, o.name, o.error);
    CHECK(o.error < precision.tolerance);
  }
}

}  // namespace

TEST_CASE("every operation computes on the host device what the CPU backend computes in fp64") {
  for (const test::Precision& precision : host_precisions) {
    cuda::HostWorld world(1);
    cuda::HostDevice device(world);
    check_all(device, precision, "host device");
  }
}

TEST_CASE("the CUDA backend has no kernel that the CPU backend has not; what it lacks is named") {
  for (int kind = 0; kind < op_kind_count; ++kind)
    for (int role = 0; role <= static_cast<int>(Role::update); ++role) {
      const auto k = static_cast<OpKind>(kind);
      const auto r = static_cast<Role>(role);
      const bool there = cuda::has_kernel(k, r), wanted = cpu::has_kernel(k, r);
      CAPTURE(to_text(k), to_text(r));
      CHECK((wanted || !there));
      if (wanted && !there && !is_communication(k))
        std::printf("MISSING in the CUDA backend: %s %s\n", std::string(to_text(k)).c_str(),
                    std::string(to_text(r)).c_str());
    }
}

TEST_CASE("every operation computes on the GPU what the CPU backend computes in fp64", "[gpu]") {
  const std::string missing = cuda::why_unavailable();
  if (!missing.empty()) {
    std::printf("SKIPPED, nothing was tried on a GPU: %s\n", missing.c_str());
    return;
  }
  const auto device = cuda::open_device(0);
  std::printf("%-32s %-20s %s\n", "operation", "precision", "normalised error");
  for (const test::Precision& precision : host_precisions) {
    if (precision.real == DType::fp64) continue;  // GPUs train in less
    for (const Outcome& o : run_all(*device, precision)) {
      std::printf("%-32s %-20s %.2e\n", o.name.c_str(), precision.name, o.error);
      CAPTURE(precision.name, o.name, o.error);
      CHECK(o.error < precision.tolerance);
    }
  }
}
