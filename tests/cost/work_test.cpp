// Flops, bytes and products of operations against their closed formulas.
#include "tests/cost/programs.h"
#include "tests/test.h"

using namespace trainwire;

namespace {
constexpr std::int64_t M = 96, N = 40, K = 24;
constexpr double product_flops = 2.0 * M * N * K;
const Operand x{{2, M / 2, K}}, dy{{2, M / 2, N}};
Operand weight(Shape s) { return {s, DType::bf16, Category::parameter}; }
}  // namespace

TEST_CASE("a linear layer multiplies 2·rows·inputs·outputs in each of its three products") {
  const OneOperation forward = one_operation(OpKind::linear, Role::forward, {x, weight({K, N})}, {dy});
  const OneOperation input = one_operation(OpKind::linear, Role::input_gradient, {dy, weight({K, N})}, {x});
  const OneOperation of_weight = one_operation(OpKind::linear, Role::weight_gradient, {dy, x}, {weight({K, N})});
  for (const OneOperation* o : {&forward, &input, &of_weight}) {
    CHECK(o->work().flops.value == product_flops);
    CHECK(o->work().product);
    CHECK(o->work().bytes.value == 2.0 * (M * K + K * N + M * N));
  }
  CHECK(forward.work().m == M);
  CHECK(forward.work().n == N);
  CHECK(input.work().n == K);
  CHECK(input.work().k == N);
  CHECK(of_weight.work().m == K);
  CHECK(of_weight.work().k == M);
}

TEST_CASE("storing a weight in three dimensions or transposed changes no flops, only the form of the product") {
  const OneOperation plain = one_operation(OpKind::linear, Role::forward, {x, weight({K, N})}, {dy});
  const OneOperation three = one_operation(OpKind::linear, Role::forward, {x, weight({K, N / 4, 4})}, {dy});
  Attributes stored_transposed;
  stored_transposed.transposed = true;
  const OneOperation t = one_operation(OpKind::linear, Role::forward, {x, weight({N, K})}, {dy}, stored_transposed);
  CHECK(three.work().n == N);
  CHECK(three.work().flops == plain.work().flops);
  CHECK(t.work().n == N);
  CHECK(t.work().k == K);
  CHECK(t.work().flops == plain.work().flops);
  CHECK(plain.work().form == ProductForm::plain);
  CHECK(t.work().form == ProductForm::transposed_b);
}

TEST_CASE("attention is 4·B·heads·S²·d forward, half of it causal, and backward 5/2 of forward") {
  constexpr std::int64_t B = 3, S = 128, heads = 8, kv = 2, d = 64;
  Attributes a;
  a.heads = heads, a.kv_heads = kv, a.head_dim = d;
  const Operand qkv{{B, S, kv * (heads / kv + 2) * d}}, o{{B, S, heads * d}}, lse{{B, heads, S}, DType::fp32};
  const double full = 4.0 * B * heads * S * S * d;
  CHECK(one_operation(OpKind::attention, Role::forward, {qkv}, {o, lse}, a).work().flops.value == full);
  a.causal = true;
  CHECK(one_operation(OpKind::attention, Role::forward, {qkv}, {o, lse}, a).work().flops.value == full / 2);
  const OneOperation backward = one_operation(OpKind::attention, Role::backward, {o, qkv, o, lse}, {qkv}, a);
  CHECK(backward.work().flops.value == 2.5 * full / 2);
}

TEST_CASE("a convolution multiplies 2·B·O·C·k²·h'·w' in each of its three products") {
  constexpr std::int64_t B = 2, C = 3, O = 8, k = 3, h = 16;
  Attributes a;
  a.kernel = k, a.padding = 1;
  const Operand image{{B, C, h, h}}, y{{B, O, h, h}}, w = weight({O, C * k * k});
  const double flops = 2.0 * B * O * C * k * k * h * h;
  CHECK(one_operation(OpKind::conv2d, Role::forward, {image, w}, {y}, a).work().flops.value == flops);
  CHECK(one_operation(OpKind::conv2d, Role::input_gradient, {y, w}, {image}, a).work().flops.value == flops);
  CHECK(one_operation(OpKind::conv2d, Role::weight_gradient, {y, image}, {w}, a).work().flops.value == flops);
}

TEST_CASE("what streams moves each operand once, and a gradient that is added to twice") {
  const Operand t{{4, 10, 16}};
  const double bytes = 4 * 10 * 16 * 2.0;
  CHECK(one_operation(OpKind::gelu, Role::forward, {t}, {t}).work().bytes.value == 2 * bytes);
  CHECK(one_operation(OpKind::gelu, Role::backward, {t, t}, {t}).work().bytes.value == 3 * bytes);
  OneOperation bias = one_operation(OpKind::bias, Role::backward, {t}, {{{16}, DType::fp32, Category::gradient}});
  CHECK(bias.work().bytes.value == bytes + 64);
  bias.program.ops[0].accumulate = true;
  CHECK(bias.work().bytes.value == bytes + 2 * 64);
}

TEST_CASE("the optimizer reads gradients and reads and writes parameters and states") {
  constexpr double n = 1000;
  const Operand g{{1000}, DType::fp32, Category::gradient}, p{{1000}, DType::fp32, Category::parameter},
      state{{1000}, DType::fp32, Category::optimizer};
  const OneOperation adam = one_operation(OpKind::optimizer, Role::update, {g, g}, {p, p, state, state, state, state});
  CHECK(adam.work().bytes.value == 2 * 4 * n * (1 + 2 * 3));
}

TEST_CASE("every kind that computes has a row, and communication is refused by name") {
  const Operand t{{4, 4, 4, 4}}, w = weight({4, 4});
  Attributes a;
  a.heads = a.kv_heads = a.head_dim = 1;
  a.kernel = 1;
  for (int kind = 0; kind < static_cast<int>(OpKind::all_reduce); ++kind) {
    const OneOperation o = one_operation(static_cast<OpKind>(kind), Role::forward, {t, w, t, t}, {t}, a);
    CAPTURE(std::string(to_text(o.op().kind)));
    CHECK(o.work().bytes.value > 0);
  }
  const OneOperation reduce = one_operation(OpKind::all_reduce, Role::forward, {t}, {t});
  CHECK_THROWS_AS(reduce.work(), std::logic_error);
  CHECK_THROWS_AS(reduce.seconds(round_gpu()), std::logic_error);
}
