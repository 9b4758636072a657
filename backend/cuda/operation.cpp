// The explicit table from (kind, role) to launches, one row a pair. The optimizer, products and attention, which take
// more than one launch, stand in operation_parts.cpp.
#include "backend/cuda/operation.h"

#include <stdexcept>

#include "backend/cuda/operation_call.h"

namespace trainwire::cuda {
namespace {

constexpr int role_count = static_cast<int>(Role::update) + 1;

void run_embedding(const Call& c) {
  const Shape& table = c.input(1).shape;
  c.launch(Kernel::embedding, {c.out(0), c.in(0), c.in(1)},
           {c.in_size(0), table[0], table[1], shard_offset(c, c.input(1), 0)});
}
void run_embedding_backward(const Call& c) {
  const Shape& table = c.output(0).shape;
  if (!c.op.accumulate) c.launch(Kernel::clear, {c.out(0)}, {c.out_size(0)}, {}, c.output(0));
  c.launch(Kernel::embedding_gradient, {c.out(0), c.in(0), c.in(1)},
           {c.in_size(1), table[0], table[1], shard_offset(c, c.output(0), 0)}, {}, c.output(0));
}
void run_position(const Call& c) {
  const Shape& x = c.input(0).shape;
  c.launch(Kernel::position, {c.out(0), c.in(0), c.in(1)}, {x[0], x[1], x[2]});
}
void run_position_backward(const Call& c) {
  const Shape& dy = c.input(0).shape;
  c.launch(Kernel::position_gradient, {c.out(0), c.in(0)}, {dy[0], dy[1], dy[2], c.output(0).shape[0]}, {},
           c.output(0));
}
void run_bias(const Call& c) {
  const std::int64_t N = c.in_size(1);
  c.launch(Kernel::bias, {c.out(0), c.in(0), c.in(1)}, {c.in_size(0) / N, N});
}
void run_bias_backward(const Call& c) { column_sums(c, 0, c.in(0), c.out_size(0)); }

void run_layer_norm(const Call& c) {
  const Shape& x = c.input(0).shape;
  c.launch(Kernel::layer_norm, {c.out(0), c.out(1), c.in(0), c.in(1), c.in(2)}, {rows(x), last(x)},
           {static_cast<double>(c.attributes.epsilon)});
}
void run_rms_norm(const Call& c) {
  const Shape& x = c.input(0).shape;
  c.launch(Kernel::rms_norm, {c.out(0), c.out(1), c.in(0), c.in(1)}, {rows(x), last(x)},
           {static_cast<double>(c.attributes.epsilon)});
}
// dx row by row, dgain and dbias down the columns.
void run_norm_backward(const Call& c) {
  const Shape& x = c.input(1).shape;
  const bool centred = c.op.kind == OpKind::layer_norm;
  const std::int64_t R = rows(x), H = last(x), chunks = chunks_of(R, H), width = (centred ? 2 : 1) * H;
  c.launch(centred ? Kernel::layer_norm_backward : Kernel::rms_norm_backward,
           {c.out(0), c.in(0), c.in(1), c.in(2), c.in(3)}, {R, H});
  void* partial = c.sink.scratch(chunks * width * c.sum_bytes());
  c.launch(centred ? Kernel::layer_norm_sums : Kernel::rms_norm_sums, {partial, c.in(0), c.in(1), c.in(3)},
           {R, H, chunks});
  for (std::int64_t i = 0; i < (centred ? 2 : 1); ++i) {
    const auto o = static_cast<std::size_t>(i + 1);
    c.launch(Kernel::column_finish, {c.out(o), partial}, {H, chunks, width, i * H}, {}, c.output(o));
  }
}

template <Kernel kernel>
void run_elementwise(const Call& c) {
  c.launch(kernel, {c.out(0), c.in(0), c.inputs.size() > 1 ? c.in(1) : nullptr}, {c.in_size(0)});
}
void run_swiglu(const Call& c) {
  const Shape& y = c.output(0).shape;
  c.launch(Kernel::swiglu, {c.out(0), c.in(0)}, {rows(y), last(y)});
}
void run_swiglu_backward(const Call& c) {
  const Shape& dy = c.input(0).shape;
  c.launch(Kernel::swiglu_backward, {c.out(0), c.in(0), c.in(1)}, {rows(dy), last(dy)});
}
template <int sign>
void run_rotary(const Call& c) {
  const Shape& qkv = c.input(0).shape;
  const Attributes& a = c.attributes;
  void* turns = c.sink.scratch(qkv[1] * a.head_dim * c.sum_bytes());
  c.launch(Kernel::rotary_table, {turns}, {qkv[1], a.head_dim}, {static_cast<double>(a.rotary_theta)});
  c.launch(Kernel::rotary, {c.out(0), c.in(0), turns}, {qkv[0], qkv[1], a.kv_heads, a.heads / a.kv_heads, a.head_dim},
           {static_cast<double>(sign)});
}

void run_logits_max(const Call& c) {
  const Shape& logits = c.input(0).shape;
  c.launch(Kernel::logits_max, {c.out(0), c.in(0)}, {rows(logits), last(logits)});
}
void run_logits_sum(const Call& c) {
  const Tensor& logits = c.input(0);
  c.launch(Kernel::logits_sum, {c.out(0), c.in(0), c.in(1), c.in(2)},
           {rows(logits.shape), last(logits.shape), shard_offset(c, logits, logits.shape.rank - 1)});
}
void run_cross_entropy(const Call& c) {
  c.launch(Kernel::cross_entropy, {c.out(0), c.in(1), c.in(2)}, {rows(c.input(0).shape)},
           {1.0 / static_cast<double>(c.attributes.tokens)});
}
void run_cross_entropy_backward(const Call& c) {
  const Tensor& logits = c.input(0);
  c.launch(Kernel::cross_entropy_backward, {c.out(0), c.in(0), c.in(1), c.in(2), c.in(3)},
           {rows(logits.shape), last(logits.shape), shard_offset(c, logits, logits.shape.rank - 1)},
           {c.context.loss_scale / static_cast<double>(c.attributes.tokens)});
}

void run_batch_norm(const Call& c) {
  const Shape& x = c.input(0).shape;
  c.launch(Kernel::batch_norm, {c.out(0), c.out(1), c.in(0), c.in(1), c.in(2)},
           {x[0], x[1], x.elements() / (x[0] * x[1])}, {static_cast<double>(c.attributes.epsilon)});
}
void run_batch_norm_backward(const Call& c) {
  const Shape& x = c.input(1).shape;
  c.launch(Kernel::batch_norm_backward, {c.out(0), c.out(1), c.out(2), c.in(0), c.in(1), c.in(2), c.in(3)},
           {x[0], x[1], x.elements() / (x[0] * x[1])}, {}, c.output(1));
}
void run_max_pool(const Call& c) { c.launch_window(Kernel::max_pool, {c.out(0), c.out(1), c.in(0)}, c.input(0).shape); }
void run_max_pool_backward(const Call& c) {
  c.launch_window(Kernel::max_pool_backward, {c.out(0), c.in(0), c.in(1)}, c.output(0).shape);
}
void run_mean_pool(const Call& c) {
  c.launch(Kernel::mean_pool, {c.out(0), c.in(0)}, {c.out_size(0), c.in_size(0) / c.out_size(0)});
}
void run_mean_pool_backward(const Call& c) {
  c.launch(Kernel::mean_pool_backward, {c.out(0), c.in(0)}, {c.in_size(0), c.out_size(0) / c.in_size(0)});
}

struct Row {
  OpKind kind;
  Role role;
  void (*run)(const Call&);
};
constexpr Row rows_of_table[] = {
    {OpKind::embedding, Role::forward, run_embedding},
    {OpKind::embedding, Role::backward, run_embedding_backward},
    {OpKind::position, Role::forward, run_position},
    {OpKind::position, Role::backward, run_position_backward},
    {OpKind::layer_norm, Role::forward, run_layer_norm},
    {OpKind::layer_norm, Role::backward, run_norm_backward},
    {OpKind::rms_norm, Role::forward, run_rms_norm},
    {OpKind::rms_norm, Role::backward, run_norm_backward},
    {OpKind::linear, Role::forward, run_linear},
    {OpKind::linear, Role::input_gradient, run_linear_input_gradient},
    {OpKind::linear, Role::weight_gradient, run_linear_weight_gradient},
    {OpKind::bias, Role::forward, run_bias},
    {OpKind::bias, Role::backward, run_bias_backward},
    {OpKind::rotary, Role::forward, run_rotary<1>},
    {OpKind::rotary, Role::backward, run_rotary<-1>},
    {OpKind::attention, Role::forward, run_attention_forward},
    {OpKind::attention, Role::backward, run_attention_backward},
    {OpKind::gelu, Role::forward, run_elementwise<Kernel::gelu>},
    {OpKind::gelu, Role::backward, run_elementwise<Kernel::gelu_backward>},
    {OpKind::relu, Role::forward, run_elementwise<Kernel::relu>},
    {OpKind::relu, Role::backward, run_elementwise<Kernel::relu_backward>},
    {OpKind::swiglu, Role::forward, run_swiglu},
    {OpKind::swiglu, Role::backward, run_swiglu_backward},
    {OpKind::add, Role::forward, run_elementwise<Kernel::add>},
    {OpKind::logits_max, Role::forward, run_logits_max},
    {OpKind::logits_sum, Role::forward, run_logits_sum},
    {OpKind::cross_entropy, Role::forward, run_cross_entropy},
    {OpKind::cross_entropy, Role::backward, run_cross_entropy_backward},
    {OpKind::conv2d, Role::forward, run_conv2d},
    {OpKind::conv2d, Role::input_gradient, run_conv2d_input_gradient},
    {OpKind::conv2d, Role::weight_gradient, run_conv2d_weight_gradient},
    {OpKind::batch_norm, Role::forward, run_batch_norm},
    {OpKind::batch_norm, Role::backward, run_batch_norm_backward},
    {OpKind::max_pool, Role::forward, run_max_pool},
    {OpKind::max_pool, Role::backward, run_max_pool_backward},
    {OpKind::mean_pool, Role::forward, run_mean_pool},
    {OpKind::mean_pool, Role::backward, run_mean_pool_backward},
    {OpKind::optimizer, Role::update, run_optimizer},
};

using Table = std::array<std::array<void (*)(const Call&), role_count>, op_kind_count>;
constexpr Table make_table() {
  Table table{};
  for (const Row& row : rows_of_table)
    table[static_cast<std::size_t>(row.kind)][static_cast<std::size_t>(row.role)] = row.run;
  // A sum of two gradients is the same addition whatever kind it is filed under.
  for (auto& kind : table) kind[static_cast<std::size_t>(Role::sum_gradients)] = run_elementwise<Kernel::add>;
  return table;
}
constexpr Table table = make_table();

}  // namespace

Type type_of(DType t) {
  switch (t) {
    case DType::bf16:
      return Type::bf16;
    case DType::fp16:
      return Type::fp16;
    case DType::int32:
      return Type::int32;
    case DType::fp64:
      return Type::fp64;
    default:
      return Type::fp32;
  }
}

bool has_kernel(OpKind kind, Role role) {
  return table[static_cast<std::size_t>(kind)][static_cast<std::size_t>(role)] != nullptr;
}

void run_operation(const Program& program, const Op& op, std::span<void* const> inputs, std::span<void* const> outputs,
                   const OperationContext& context, Sink& sink) {
  const auto run = table[static_cast<std::size_t>(op.kind)][static_cast<std::size_t>(op.role)];
  if (run == nullptr) throw std::logic_error(op_name(program, op) + ": the CUDA backend has no kernel for it");
  static const Attributes none;
  const Attributes& attributes = program.attributes.empty() ? none : program.attributes[op.attributes];
  sink.begin();
  run(Call{program, op, attributes, inputs, outputs, context, sink});
}

}  // namespace trainwire::cuda
