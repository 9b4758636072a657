// Flops, bytes and matrix products of an operation, from its operands' shapes: one row of the table a kind.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "sim/cost/cost.h"

namespace trainwire {
namespace {

// One operation with its operands.
struct Operands {
  const Program& program;
  const Op& op;
  const Attributes& attributes;

  const Tensor& in(std::size_t i) const { return program.tensor(program.inputs(op)[i]); }
  const Tensor& out(std::size_t i) const { return program.tensor(program.outputs(op)[i]); }
  std::size_t in_count() const { return program.inputs(op).size(); }
  double in_size(std::size_t i) const { return static_cast<double>(in(i).shape.elements()); }
};

// Every operand once; gradients that are added to are read as well.
double operand_bytes(const Operands& o) {
  double bytes = 0;
  for (const BufferId b : o.program.inputs(o.op)) bytes += o.program.tensor(b).bytes();
  for (const BufferId b : o.program.outputs(o.op)) {
    const Tensor& t = o.program.tensor(b);
    bytes += t.bytes() * (o.op.accumulate && t.category == Category::gradient ? 2 : 1);
  }
  return bytes;
}

Work streaming(const Operands& o, double flops) {
  Work w;
  w.flops = Flops(flops);
  w.bytes = Bytes(operand_bytes(o));
  w.dtype = o.in(0).dtype;
  return w;
}

void set_product(Work& w, std::int64_t m, std::int64_t n, std::int64_t k, ProductForm form) {
  w.product = true;
  w.m = m, w.n = n, w.k = k;
  w.form = form;
  w.flops = Flops(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
}

// y (M,N) = x (M,K) W (K,N); dx (M,K) = dy Wᵀ; dW (K,N) = xᵀ dy. Stored (N,K), W and dW are the transposed of that.
Work linear(const Operands& o) {
  Work w = streaming(o, 0);
  const bool transposed = o.attributes.transposed;
  const Shape& weight = o.op.role == Role::weight_gradient ? o.out(0).shape : o.in(1).shape;
  const std::int64_t first = weight[0], rest = weight.elements() / first;
  const std::int64_t K = transposed ? rest : first, N = transposed ? first : rest;
  const std::int64_t M = o.in(0).shape.elements() / (o.op.role == Role::forward ? K : N);
  using Form = ProductForm;
  switch (o.op.role) {
    case Role::forward:
      set_product(w, M, N, K, transposed ? Form::transposed_b : Form::plain);
      break;
    case Role::input_gradient:
      set_product(w, M, K, N, transposed ? Form::plain : Form::transposed_b);
      break;
    default:
      set_product(w, first, rest, M, Form::transposed_a);
      break;
  }
  return w;
}

// o = softmax(q kᵀ) v: 2 products of S·S·d a head, of which a causal mask needs half; backward recomputes q kᵀ and has
// four more: 5/2 of forward (Dao et al. 2022, FlashAttention, section 3.1). Scores never reach memory.
Work attention(const Operands& o) {
  const Shape& qkv = o.op.role == Role::forward ? o.in(0).shape : o.in(1).shape;
  const std::size_t kv = o.op.role == Role::forward ? 1 : 4;  // keys and values of other ranks' tokens
  const std::int64_t keys = o.in_count() > kv ? o.in(kv).shape[1] : qkv[1];
  const Attributes& a = o.attributes;
  Work w = streaming(o, 0);
  const std::int64_t products = o.op.role == Role::forward ? 2 : 5;
  set_product(w, qkv[1], keys, a.head_dim, ProductForm::transposed_b);
  w.count = products * qkv[0] * a.heads;
  w.flops = w.flops * (static_cast<double>(w.count) * (a.causal ? 0.5 : 1.0));
  return w;
}

// Copies the keys and values alone.
Work keys_values(const Operands& o) {
  Work w = streaming(o, 0);
  w.bytes = Bytes(2 * (o.op.role == Role::forward ? o.out(0) : o.in(0)).bytes());
  return w;
}

// A product an expert, on equally many rows each; what is uneven is in the number of rows (Program of the rank).
Work expert_linear(const Operands& o) {
  Work w = streaming(o, 0);
  const Shape& weight = o.op.role == Role::weight_gradient ? o.out(0).shape : o.in(1).shape;
  const std::int64_t K = weight[1], N = weight.elements() / (weight[0] * K);
  const std::int64_t M = std::max<std::int64_t>(1, (o.in(0).shape[0] + weight[0] - 1) / weight[0]);
  switch (o.op.role) {
    case Role::forward:
      set_product(w, M, N, K, ProductForm::plain);
      break;
    case Role::input_gradient:
      set_product(w, M, K, N, ProductForm::transposed_b);
      break;
    default:
      set_product(w, K, N, M, ProductForm::transposed_a);
      break;
  }
  w.count = weight[0];
  w.flops = Flops(2.0 * static_cast<double>(o.in(0).shape[0]) * static_cast<double>(K) * static_cast<double>(N));
  return w;
}

// As products of unfolded images (im2col): y (O,P) = W (O,R) columns (R,P), R = C·k·k, P = B·h'·w'. The unfolded images
// are not counted as bytes: implicit products unfold on the fly.
Work conv2d(const Operands& o) {
  Work w = streaming(o, 0);
  const Shape& weight = o.op.role == Role::weight_gradient ? o.out(0).shape : o.in(1).shape;
  const Shape& y = o.op.role == Role::forward ? o.out(0).shape : o.in(0).shape;
  const std::int64_t O = weight[0], R = weight.elements() / O, P = y.elements() / O;
  switch (o.op.role) {
    case Role::forward:
      set_product(w, O, P, R, ProductForm::plain);
      break;
    case Role::input_gradient:
      set_product(w, R, P, O, ProductForm::transposed_a);
      break;
    default:
      set_product(w, O, R, P, ProductForm::transposed_b);
      break;
  }
  return w;
}

// A gather: reads and writes a row a token. Backward adds rows to a table that it clears first unless it accumulates.
Work embedding(const Operands& o) {
  Work w = streaming(o, 0);
  if (o.op.role == Role::forward) {
    w.bytes = Bytes(o.in(0).bytes() + 2 * o.out(0).bytes());
    return w;
  }
  const double rows = o.in_size(0) * bytes_of(o.out(0).dtype);
  w.flops = Flops(o.in_size(0));
  w.bytes = Bytes(o.in(0).bytes() + o.in(1).bytes() + 2 * rows + (o.op.accumulate ? 0 : o.out(0).bytes()));
  return w;
}

// Forward needs the statistics alone, backward rereads the logits.
Work cross_entropy(const Operands& o) {
  const bool forward = o.op.role == Role::forward;
  Work w = streaming(o, 5 * o.in_size(forward ? 1 : 0));
  if (forward) w.bytes = Bytes(w.bytes.value - o.in(0).bytes());
  return w;
}

// Reads gradients; reads and writes parameters and states. Flops an element: SGD 2, and about 6 more a state.
Work optimizer(const Operands& o) {
  double updated = 0, gradients = 0, written = 0;
  for (const BufferId b : o.program.inputs(o.op))
    gradients += static_cast<double>(o.program.tensor(b).shape.elements());
  for (const BufferId b : o.program.outputs(o.op)) {
    const Tensor& t = o.program.tensor(b);
    updated += t.bytes();
    written += static_cast<double>(t.shape.elements());
  }
  Work w = streaming(o, 2 * gradients + 6 * (written - gradients));
  w.bytes += Bytes(updated);
  return w;
}

// A pass over a list of gradients: 2 flops an element, or 1 and a write.
Work squares(const Operands& o) {
  double elements = 0;
  for (const BufferId b : o.program.inputs(o.op)) elements += static_cast<double>(o.program.tensor(b).shape.elements());
  return streaming(o, (o.op.kind == OpKind::squared_norm ? 2 : 1) * elements);
}

// Flops an element of the first input, forward and backward, of what streams over its operands; counted on the formulas
// of sim/ops/ops.h with exp, tanh and divisions as about 5. They matter only on devices with very little vector rate.
struct Row {
  OpKind kind;
  double forward, backward;
  Work (*work)(const Operands&);  // where the operands alone do not tell; null: streams
};
constexpr Row table[] = {
    {OpKind::embedding, 0, 0, embedding},
    {OpKind::position, 1, 1, nullptr},
    {OpKind::layer_norm, 8, 14, nullptr},
    {OpKind::rms_norm, 5, 11, nullptr},
    {OpKind::linear, 0, 0, linear},
    {OpKind::bias, 1, 1, nullptr},
    {OpKind::rotary, 3, 3, nullptr},
    {OpKind::attention, 0, 0, attention},
    {OpKind::keys_values, 0, 0, keys_values},
    {OpKind::qk_norm, 5, 11, nullptr},
    {OpKind::router, 8, 4, nullptr},
    {OpKind::dispatch, 0, 1, nullptr},
    {OpKind::expert_linear, 0, 0, expert_linear},
    {OpKind::combine, 2, 4, nullptr},
    {OpKind::gelu, 14, 24, nullptr},
    {OpKind::swiglu, 5, 12, nullptr},
    {OpKind::relu, 1, 1, nullptr},
    {OpKind::add, 1, 1, nullptr},
    {OpKind::logits_max, 1, 0, nullptr},
    {OpKind::logits_sum, 7, 0, nullptr},
    {OpKind::cross_entropy, 0, 0, cross_entropy},
    {OpKind::conv2d, 0, 0, conv2d},
    {OpKind::batch_norm, 8, 14, nullptr},
    {OpKind::max_pool, 9, 1, nullptr},
    {OpKind::mean_pool, 1, 1, nullptr},
    {OpKind::optimizer, 0, 0, optimizer},
    {OpKind::squared_norm, 2, 2, squares},
    {OpKind::clip, 1, 1, squares},
};

const Row* row_of(OpKind kind) {
  for (const Row& row : table)
    if (row.kind == kind) return &row;
  return nullptr;
}

}  // namespace

Work work_of(const Program& program, const Op& op) {
  static const Attributes none;
  const Operands o{program, op, program.attributes.empty() ? none : program.attributes[op.attributes]};
  const Row* row = row_of(op.kind);
  if (row == nullptr || o.in_count() == 0)
    throw std::logic_error(fmt::format("{}: not an operation that computes", op_name(program, op)));
  if (op.role == Role::sum_gradients) return streaming(o, o.in_size(0));
  if (row->work != nullptr) return row->work(o);
  return streaming(o, (op.role == Role::forward ? row->forward : row->backward) * o.in_size(0));
}

}  // namespace trainwire
