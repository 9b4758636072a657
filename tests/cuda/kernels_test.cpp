// Number formats, and teams of several threads: what a GPU has and the conformance run on the host has not.
#include <cmath>
#include <cstring>
#include <random>

#include "backend/cuda/host/device.h"
#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/kernels/types.h"
#include "backend/cuda/product.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::cuda;

namespace {

std::vector<float> normal_values(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(n);
  for (float& x : v) x = normal(random);
  return v;
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(static_cast<double>(a[i] - b[i])));
  return worst;
}

template <class Half>
float through(float x) {
  return static_cast<float>(Half(x));
}

}  // namespace

TEST_CASE("every fp16 and bf16 number survives the way through fp32") {
  int changed = 0;
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    fp16 h{};
    h.bits = static_cast<std::uint16_t>(bits);
    const float x = static_cast<float>(h);
    if (!std::isnan(x) && fp16(x).bits != h.bits) ++changed;
    bf16 b{};
    b.bits = static_cast<std::uint16_t>(bits);
    const float y = static_cast<float>(b);
    if (!std::isnan(y) && bf16(y).bits != b.bits) ++changed;
  }
  CHECK(changed == 0);
}

TEST_CASE("fp32 rounds to the nearest fp16 and bf16, ties to even (IEEE 754)") {
  CHECK(through<bf16>(1.0F + 0x1p-8F) == 1.0F);            // a tie, down to the even one
  CHECK(through<bf16>(1.0F + 0x3p-8F) == 1.0F + 0x1p-6F);  // a tie, up
  CHECK(through<bf16>(1.0F + 0x1.01p-8F) == 1.0F + 0x1p-7F);
  CHECK(through<fp16>(1.0F + 0x1p-11F) == 1.0F);
  CHECK(through<fp16>(1.0F + 0x3p-11F) == 1.0F + 0x1p-9F);
  CHECK(through<fp16>(65519.0F) == 65504.0F);
  CHECK(std::isinf(through<fp16>(65520.0F)));
  CHECK(through<fp16>(0x1p-25F) == 0.0F);  // a tie between 0 and the smallest
  CHECK(through<fp16>(0x1.8p-25F) == 0x1p-24F);
  CHECK(std::isnan(through<fp16>(NAN)));
  CHECK(std::isnan(through<bf16>(NAN)));
}

TEST_CASE("teams of several threads compute what one thread does: nobody reads before another has written") {
  constexpr std::int64_t rows = 6, H = 200, V = 300;
  const std::vector<float> x = normal_values(rows * V, 1), gain = normal_values(V, 2), dy = normal_values(rows * V, 3);
  const auto pointer = [](const std::vector<float>& v) { return const_cast<float*>(v.data()); };
  for (const Kernel kernel : {Kernel::layer_norm, Kernel::layer_norm_backward, Kernel::rms_norm,
                              Kernel::rms_norm_backward, Kernel::logits_max}) {
    std::vector<float> statistics = normal_values(rows * 2, 4);
    std::array<std::vector<float>, 2> results{std::vector<float>(rows * V), std::vector<float>(rows * V)};
    for (std::size_t threads = 0; threads < 2; ++threads) {
      Launch l;
      l.kernel = kernel;
      float* y = results[threads].data();
      const bool backward = kernel == Kernel::layer_norm_backward || kernel == Kernel::rms_norm_backward;
      if (backward)
        l.p = {y, pointer(dy), pointer(x), pointer(gain), statistics.data()};
      else if (kernel == Kernel::logits_max)
        l.p = {y, pointer(x)};
      else
        l.p = {y, statistics.data(), pointer(x), pointer(gain), pointer(gain)};
      l.n = {rows, H};
      l.x[0] = 1e-5;
      if (threads == 0)
        run_on_host(l);
      else
        run_on_host_threads(l, 5);
    }
    CAPTURE(static_cast<int>(kernel));
    CHECK(difference(results[0], results[1]) < 1e-4);
  }
}

TEST_CASE("attention by teams of several threads computes what one thread does") {
  constexpr std::int64_t B = 1, S = 40, heads = 2, kv = 1, d = 16, width = kv * (heads / kv + 2) * d;
  const std::vector<float> qkv = normal_values(B * S * width, 1), d_o = normal_values(B * S * heads * d, 2);
  std::array<std::vector<float>, 2> o, lse, dqkv;
  for (std::size_t threads = 0; threads < 2; ++threads) {
    o[threads].resize(B * S * heads * d);
    lse[threads].resize(B * S * heads);
    dqkv[threads].resize(B * S * width);
    std::vector<float> dot(B * S * heads);
    const auto run = [&](Kernel kernel, std::array<void*, 7> p, std::array<std::int64_t, 8> n) {
      Launch l;
      l.kernel = kernel;
      l.p = p;
      l.n = n;
      if (threads == 0)
        run_on_host(l);
      else
        run_on_host_threads(l, 4);
    };
    void* in = const_cast<float*>(qkv.data());
    void* gradient = const_cast<float*>(d_o.data());
    const std::array<std::int64_t, 8> sizes{B, S, heads, kv, d, 1, 16, 16};
    run(Kernel::attention, {o[threads].data(), lse[threads].data(), in}, sizes);
    run(Kernel::attention_dot, {dot.data(), gradient, o[threads].data()}, {B, S, heads, d});
    for (const Kernel kernel : {Kernel::attention_backward_q, Kernel::attention_backward_kv})
      run(kernel, {dqkv[threads].data(), gradient, in, lse[threads].data(), dot.data()}, sizes);
  }
  CHECK(difference(o[0], o[1]) < 1e-6);
  CHECK(difference(lse[0], lse[1]) < 1e-6);
  CHECK(difference(dqkv[0], dqkv[1]) < 1e-5);
}

TEST_CASE("tiles of attention shrink until they fit, and the bytes are what the kernels take") {
  AttentionSizes s{1, 4096, 32, 8, 128, true, 64, 64};
  for (const Kernel kernel : {Kernel::attention, Kernel::attention_backward_q, Kernel::attention_backward_kv})
    for (const Index limit : {99 * 1024, 163 * 1024, 227 * 1024}) {  // RTX 4090, A100, H100
      s.q_rows = s.k_rows = attention_rows(kernel, s, 2, 4, limit);
      CHECK(attention_bytes(kernel, s, 2, 4) <= limit);
    }
  CHECK(attention_rows(Kernel::attention, s, 2, 4, 227 * 1024) == 64);
}

TEST_CASE("a row-major product is the column-major one of its transposes") {
  Product p;
  p.M = 3;
  p.N = 5;
  p.K = 7;
  p.lda = 3;  // stored (K,M)
  p.transpose_a = true;
  p.ldb = 7;  // stored (N,K)
  p.transpose_b = true;
  p.ldc = 5;
  const std::vector<float> a = normal_values(21, 1), b = normal_values(35, 2);
  std::vector<float> c(15);
  p.a = a.data();
  p.b = b.data();
  p.c = c.data();
  multiply_on_host(p);
  double worst = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 5; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 7; ++k) sum += static_cast<double>(a[k * 3 + i]) * static_cast<double>(b[j * 7 + k]);
      worst = std::max(worst, std::abs(sum - static_cast<double>(c[i * 5 + j])));
    }
  CHECK(worst < 1e-5);
}
