// Laws that any sensible GPU time obeys.
#include <random>

#include "sim/cost/gpu.h"
#include "tests/cost/programs.h"
#include "tests/test.h"

using namespace trainwire;

TEST_CASE("a matrix product is never faster than the peak rate or the memory allows") {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> size(1, 9000);
  const DeviceSpec gpu = round_gpu();
  for (int i = 0; i < 300; ++i) {
    const std::int64_t m = size(random), n = size(random), k = size(random);
    CAPTURE(7, m, n, k);
    const OneOperation o = linear_forward(m, n, k);
    CHECK(o.work().flops.value / o.seconds(gpu) <= 100e12);
    CHECK(o.work().bytes.value / o.seconds(gpu) <= 1e12);
  }
}

TEST_CASE("a matrix product never gets faster by growing") {
  std::mt19937 random(8);
  std::uniform_int_distribution<std::int64_t> size(1, 5000), more(0, 300);
  const DeviceSpec gpu = round_gpu();
  for (int i = 0; i < 300; ++i) {
    const std::int64_t m = size(random), n = size(random), k = size(random);
    const std::int64_t dm = more(random), dn = more(random), dk = more(random);
    CAPTURE(8, m, n, k, dm, dn, dk);
    CHECK(linear_forward(m + dm, n + dn, k + dk).seconds(gpu) >= linear_forward(m, n, k).seconds(gpu) * (1 - 1e-12));
  }
}

TEST_CASE("more bandwidth, more flops or a shorter launch never make a GPU slower") {
  std::mt19937 random(9);
  std::uniform_int_distribution<std::int64_t> size(1, 9000);
  const DeviceSpec gpu = round_gpu();
  DeviceSpec wider = gpu, faster = gpu, quicker = gpu;
  wider.memory_bandwidth.value = Bandwidth(1.3e12);
  faster.peak[static_cast<std::size_t>(DType::bf16)].value = FlopRate(130e12);
  quicker.launch.value = Seconds(1e-6);
  for (int i = 0; i < 100; ++i) {
    const std::int64_t m = size(random), n = size(random), k = size(random);
    CAPTURE(9, m, n, k);
    const Operand t{{m, k}};
    for (const OneOperation& o : {linear_forward(m, n, k), one_operation(OpKind::gelu, Role::forward, {t}, {t})})
      for (const DeviceSpec* better : {&wider, &faster, &quicker}) CHECK(o.seconds(*better) <= o.seconds(gpu));
  }
}

TEST_CASE("a large product reaches the device's product efficiency within 10 %, a small one takes a few launches") {
  const DeviceSpec gpu = round_gpu();
  const OneOperation large = linear_forward(16384, 16384, 16384);
  CHECK(large.work().flops.value / large.seconds(gpu) == Approx(0.9 * 100e12).epsilon(0.1));
  CHECK(linear_forward(64, 64, 64).seconds(gpu) < 3 * gpu.launch.value.value);
}

TEST_CASE("a stream of many bytes takes bytes over the bandwidth that is reached, plus the launch") {
  const DeviceSpec gpu = round_gpu();
  const Operand t{{1 << 14, 1 << 14}};
  const OneOperation add = one_operation(OpKind::add, Role::forward, {t, t}, {t});
  const double expected = 2e-6 + add.work().bytes.value / stream_rate(gpu);
  CHECK(stream_rate(gpu) >= 0.8 * 1e12);
  CHECK(stream_rate(gpu) <= 1e12);
  CHECK(add.seconds(gpu) == Approx(expected).epsilon(0.01));
}

TEST_CASE("attention backward takes at least 5/2 of forward, and causal attention at most what full attention takes") {
  Attributes a;
  a.heads = a.kv_heads = 16, a.head_dim = 128;
  const Operand qkv{{1, 4096, 3 * 16 * 128}}, o{{1, 4096, 16 * 128}}, lse{{1, 16, 4096}, DType::fp32};
  const DeviceSpec gpu = round_gpu();
  const double full = one_operation(OpKind::attention, Role::forward, {qkv}, {o, lse}, a).seconds(gpu);
  a.causal = true;
  const double forward = one_operation(OpKind::attention, Role::forward, {qkv}, {o, lse}, a).seconds(gpu);
  const double backward = one_operation(OpKind::attention, Role::backward, {o, qkv, o, lse}, {qkv}, a).seconds(gpu);
  CHECK(forward <= full);
  CHECK(backward >= 2.5 * (forward - gpu.launch.value.value));
}
