// Operations that take several launches or a matrix product.
#include <cmath>

#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/operation_call.h"

namespace trainwire::cuda {
namespace {

// (K,N) of a linear's weight, or of its gradient.
struct Sides {
  std::int64_t N, K;
};
Sides sides_of(const Call& c, const Shape& weight) {
  if (c.attributes.transposed) return {weight.elements() / last(weight), last(weight)};
  return {weight.elements() / weight[0], weight[0]};
}

Product product(const Call& c, std::int64_t M, std::int64_t N, std::int64_t K, const Tensor& result) {
  Product p;
  p.M = M;
  p.N = N;
  p.K = K;
  p.type = c.type();
  p.result = type_of(result.dtype);
  p.tf32 = c.context.tf32;
  p.ldc = N;
  return p;
}
void set_a(Product& p, const void* a, std::int64_t ld, bool transposed) {
  p.a = a;
  p.lda = ld;
  p.transpose_a = transposed;
}
void set_b(Product& p, const void* b, std::int64_t ld, bool transposed) {
  p.b = b;
  p.ldb = ld;
  p.transpose_b = transposed;
}

// x (B,C,h,w), weight (O,C·k·k), y (B,O,oh,ow); the columns of an image: (C·k·k, oh·ow)
struct Conv {
  std::int64_t B, O, R, P;
  bool pointwise;  // the image is its own column matrix
};
Conv conv_of(const Call& c, const Shape& x, std::int64_t outputs) {
  const Attributes& a = c.attributes;
  const auto out = [&](std::int64_t side) { return (side + 2 * a.padding - a.kernel) / a.stride + 1; };
  return {x[0], outputs, x[1] * a.kernel * a.kernel, out(x[2]) * out(x[3]),
          a.kernel == 1 && a.stride == 1 && a.padding == 0};
}
void* unfolded(const Call& c, const Conv& s, void* x, const Shape& shape) {
  if (s.pointwise) return x;
  void* columns = c.sink.scratch(s.B * s.R * s.P * size_of(c.type()));
  c.launch_window(Kernel::unfold, {columns, x}, shape);
  return columns;
}
const void* image(const void* base, std::int64_t elements, Type type) {
  return static_cast<const char*>(base) + elements * size_of(type);
}

}  // namespace

std::int64_t shard_offset(const Call& c, const Tensor& tensor, int dim) {
  for (std::size_t axis = 0; axis < axis_count; ++axis) {
    const Placement& p = tensor.placement[axis];
    if (p.kind == Placement::Kind::shard && p.dim == dim) return c.context.coordinate[axis] * tensor.shape[dim];
  }
  return 0;
}

void column_sums(const Call& c, std::size_t o, void* dy, std::int64_t N) {
  const std::int64_t R = c.in_size(0) / N, chunks = chunks_of(R, N);
  void* partial = c.sink.scratch(chunks * N * c.sum_bytes());
  c.launch(Kernel::column_sums, {partial, dy}, {R, N, chunks});
  c.launch(Kernel::column_finish, {c.out(o), partial}, {N, chunks, N, 0}, {}, c.output(o));
}

void run_linear(const Call& c) {
  const Sides s = sides_of(c, c.input(1).shape);
  Product p = product(c, c.in_size(0) / s.K, s.N, s.K, c.output(0));
  set_a(p, c.in(0), s.K, false);
  set_b(p, c.in(1), c.attributes.transposed ? s.K : s.N, c.attributes.transposed);
  p.bias = c.inputs.size() > 2 ? c.in(2) : nullptr;
  p.c = c.out(0);
  c.sink.multiply(p);
}

void run_linear_input_gradient(const Call& c) {
  const Sides s = sides_of(c, c.input(1).shape);
  Product p = product(c, c.in_size(0) / s.N, s.K, s.N, c.output(0));
  set_a(p, c.in(0), s.N, false);
  set_b(p, c.in(1), c.attributes.transposed ? s.K : s.N, !c.attributes.transposed);
  p.c = c.out(0);
  c.sink.multiply(p);
}

void run_linear_weight_gradient(const Call& c) {
  const Sides s = sides_of(c, c.output(0).shape);
  const std::int64_t rows_of_x = c.in_size(0) / s.N;
  const bool transposed = c.attributes.transposed;
  // dw (K,N) = xᵀ · dy, or (N,K) = dyᵀ · x
  Product p = product(c, transposed ? s.N : s.K, transposed ? s.K : s.N, rows_of_x, c.output(0));
  set_a(p, c.in(transposed ? 0 : 1), p.M, true);
  set_b(p, c.in(transposed ? 1 : 0), p.N, false);
  p.c = c.out(0);
  p.accumulate = c.op.accumulate;
  c.sink.multiply(p);
  if (c.outputs.size() > 1) column_sums(c, 1, c.in(0), s.N);
}

void run_conv2d(const Call& c) {
  const Conv s = conv_of(c, c.input(0).shape, c.input(1).shape[0]);
  const void* columns = unfolded(c, s, c.in(0), c.input(0).shape);
  Product p = product(c, s.O, s.P, s.R, c.output(0));
  set_a(p, c.in(1), s.R, false);
  set_b(p, columns, s.P, false);
  p.c = c.out(0);
  p.batch = static_cast<std::int32_t>(s.B);
  p.stride_b = s.R * s.P;
  p.stride_c = s.O * s.P;
  c.sink.multiply(p);
}

void run_conv2d_input_gradient(const Call& c) {
  const Shape& dx = c.output(0).shape;
  const Conv s = conv_of(c, dx, c.input(1).shape[0]);
  void* columns = s.pointwise ? c.out(0) : c.sink.scratch(s.B * s.R * s.P * size_of(c.type()));
  Product p = product(c, s.R, s.P, s.O, c.output(0));
  set_a(p, c.in(1), s.R, true);
  set_b(p, c.in(0), s.P, false);
  p.c = columns;
  p.batch = static_cast<std::int32_t>(s.B);
  p.stride_b = s.O * s.P;
  p.stride_c = s.R * s.P;
  c.sink.multiply(p);
  if (!s.pointwise) c.launch_window(Kernel::fold, {c.out(0), columns}, dx);
}

void run_conv2d_weight_gradient(const Call& c) {
  const Shape& x = c.input(1).shape;
  const Conv s = conv_of(c, x, c.output(0).shape[0]);
  const void* columns = unfolded(c, s, c.in(1), x);
  for (std::int64_t b = 0; b < s.B; ++b) {
    Product p = product(c, s.O, s.R, s.P, c.output(0));
    set_a(p, image(c.in(0), b * s.O * s.P, c.type()), s.P, false);
    set_b(p, image(columns, b * s.R * s.P, c.type()), s.P, true);
    p.c = c.out(0);
    p.accumulate = c.op.accumulate || b > 0;
    c.sink.multiply(p);
  }
}

namespace {

void launch_attention(const Call& c, Kernel kernel, std::initializer_list<void*> p, const Shape& qkv) {
  const Attributes& a = c.attributes;
  const AttentionSizes s{qkv[0], qkv[1], a.heads, a.kv_heads, a.head_dim, a.causal, 16, 16};
  const std::int64_t tile =
      attention_rows(kernel, s, size_of(c.type()), c.sum_bytes(), static_cast<std::int64_t>(c.context.shared_bytes));
  c.launch(kernel, p, {s.B, s.S, s.heads, s.kv_heads, s.head_dim, a.causal ? 1 : 0, tile, tile});
}

}  // namespace

void run_attention_forward(const Call& c) {
  launch_attention(c, Kernel::attention, {c.out(0), c.out(1), c.in(0)}, c.input(0).shape);
}

// (do, qkv, o, log-sum-exp) -> (dqkv)
void run_attention_backward(const Call& c) {
  const Shape& qkv = c.input(1).shape;
  const Attributes& a = c.attributes;
  void* dot = c.sink.scratch(c.in_size(3) * c.sum_bytes());
  c.launch(Kernel::attention_dot, {dot, c.in(0), c.in(2)}, {qkv[0], qkv[1], a.heads, a.head_dim});
  for (const Kernel kernel : {Kernel::attention_backward_q, Kernel::attention_backward_kv})
    launch_attention(c, kernel, {c.out(0), c.in(0), c.in(1), c.in(3), dot}, qkv);
}

// Outputs: the parameters, then their states, then fp32 master weights of those stored otherwise.
void run_optimizer(const Call& c) {
  const std::size_t n = c.inputs.size();
  const OptimizerKind kind = c.context.optimizer;
  const bool decoupled = kind == OptimizerKind::adamw, adam = decoupled || kind == OptimizerKind::adam;
  const std::size_t states = adam ? 2 : kind == OptimizerKind::momentum ? 1 : 0;
  const double beta1 = 0.9, beta2 = 0.999, steps = static_cast<double>(c.context.step);
  const double rate = c.context.learning_rate, unscale = 1 / c.context.loss_scale;
  std::size_t master_at = n * (1 + states);
  for (std::size_t i = 0; i < n; ++i) {
    const Tensor& tensor = c.output(i);
    void* master = tensor.dtype != DType::fp32 && master_at < c.outputs.size() ? c.out(master_at++) : nullptr;
    const bool decays = decoupled && c.context.parameters[static_cast<std::size_t>(tensor.parameter)].decay;
    const double decay = decays ? rate * c.context.weight_decay : 0;
    const std::int64_t size = tensor.shape.elements();
    if (adam) {
      const double correction = 1 / std::sqrt(1 - std::pow(beta2, steps));
      c.launch(Kernel::adam, {c.out(i), master, c.out(n + 2 * i), c.out(n + 2 * i + 1), c.in(i)}, {size},
               {rate / (1 - std::pow(beta1, steps)), correction, beta1, beta2, 1e-8, 0, decay, unscale}, c.input(i));
    } else if (states == 1) {
      c.launch(Kernel::momentum, {c.out(i), master, c.out(n + i), c.in(i)}, {size}, {rate, 0.9, 0, unscale},
               c.input(i));
    } else {
      c.launch(Kernel::sgd, {c.out(i), master, c.in(i)}, {size}, {rate, 0, unscale}, c.input(i));
    }
  }
}

}  // namespace trainwire::cuda
