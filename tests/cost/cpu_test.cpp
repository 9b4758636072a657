// How measured CPU times are looked up.
#include "sim/cost/cpu.h"

#include "tests/cost/programs.h"
#include "tests/test.h"

using namespace trainwire;

namespace {
DeviceSpec measured_cpu(double rate) {
  DeviceSpec d;
  d.kind = DeviceSpec::Kind::cpu;
  d.memory_bandwidth.value = Bandwidth(1e10);
  d.memory_efficiency.value = 1;
  d.cpu.operation_overhead = Seconds(1e-6);
  for (const ProductForm form : {ProductForm::plain, ProductForm::transposed_b, ProductForm::transposed_a})
    for (const std::int64_t m : {16, 64, 256})
      for (const std::int64_t n : {32, 128, 1024})
        d.cpu.products.push_back({form, m, n, 256, 2.0 * static_cast<double>(m * n) * 256 / rate});
  d.cpu.kernels["gelu/forward"] = {{100, 10000}, {1e-6, 1e-4}};
  return d;
}
}  // namespace

TEST_CASE("a measured product is given back as measured, and one constant rate gives that rate everywhere") {
  DeviceSpec cpu = measured_cpu(40e9);
  CHECK(product_seconds(cpu.cpu, ProductForm::plain, 300, 77, 1000) ==
        Approx(2.0 * 300 * 77 * 1000 / 40e9).epsilon(1e-6));
  cpu.cpu.products[4].seconds *= 1.7;
  const MeasuredProduct& p = cpu.cpu.products[4];
  CHECK(product_seconds(cpu.cpu, p.form, p.m, p.n, p.k) == Approx(p.seconds).epsilon(1e-3));
}

TEST_CASE("an interpolated product's rate lies between the slowest and the fastest measured") {
  DeviceSpec cpu = measured_cpu(40e9);
  for (std::size_t i = 0; i < cpu.cpu.products.size(); i += 2) cpu.cpu.products[i].seconds *= 2;
  for (const std::int64_t m : {1, 20, 100, 5000}) {
    const double seconds = product_seconds(cpu.cpu, ProductForm::plain, m, 64, 512);
    const double rate = 2.0 * static_cast<double>(m) * 64 * 512 / seconds;
    CHECK(rate <= 40e9 * (1 + 1e-9));
    CHECK(rate >= 20e9 * (1 - 1e-9));
  }
}

TEST_CASE("a kernel's time is its curve at its elements plus the overhead of an operation") {
  const DeviceSpec cpu = measured_cpu(40e9);
  const Operand t{{10, 100}, DType::fp32};
  CHECK(one_operation(OpKind::gelu, Role::forward, {t}, {t}).seconds(cpu) == Approx(1e-6 + 1e-5));
}

TEST_CASE("a kernel that was not measured takes its bytes over the memory bandwidth") {
  const DeviceSpec cpu = measured_cpu(40e9);
  const Operand t{{10, 100}, DType::fp32};
  CHECK(one_operation(OpKind::relu, Role::forward, {t}, {t}).seconds(cpu) == Approx(1e-6 + 2 * 4000 / 1e10));
}

TEST_CASE("a weight gradient with a bias takes the product and a pass over dy") {
  DeviceSpec cpu = measured_cpu(40e9);
  cpu.cpu.kernels["bias/backward"] = {{1, 1e6}, {1e-9, 1e-3}};
  const Operand dy{{8, 32}, DType::fp32}, x{{8, 64}, DType::fp32}, dw{{64, 32}, DType::fp32, Category::gradient},
      db{{32}, DType::fp32, Category::gradient};
  const double without = one_operation(OpKind::linear, Role::weight_gradient, {dy, x}, {dw}).seconds(cpu);
  const double with = one_operation(OpKind::linear, Role::weight_gradient, {dy, x}, {dw, db}).seconds(cpu);
  CHECK(with - without == Approx(8 * 32 * 1e-9));
}

TEST_CASE("a curve is exact where it was measured, a power law between, and goes on with its last slope") {
  const Curve curve{{10, 100, 1000}, {1, 10, 1000}};
  CHECK(curve.at(10) == Approx(1));
  CHECK(curve.at(100) == Approx(10));
  CHECK(curve.at(31.6227766) == Approx(3.16227766));
  CHECK(curve.at(10000) == Approx(100000));
  CHECK(curve.at(1) == Approx(0.1));
}
