// The explicit table from (kind, role) to kernels, one row a pair; each row unpacks operands and shapes for its kernel.
#include "backend/cpu/call.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "backend/common/shard.h"

namespace trainwire::cpu {
namespace {

constexpr int role_count = static_cast<int>(Role::update) + 1;

// (K,N) of a linear's weight, or of its gradient.
struct Product {
  std::int64_t N, K;
};
template <class T>
Product product_of(const Call<T>& c, const Shape& weight) {
  if (c.attributes.transposed) return {weight.elements() / last(weight), last(weight)};
  return {weight.elements() / weight[0], weight[0]};
}

template <class T>
ConvShape conv_shape(const Call<T>& c, const Shape& x, std::int64_t outputs) {
  const Attributes& a = c.attributes;
  return {x[0], x[1], x[2], x[3], outputs, a.kernel, a.stride, a.padding};
}

template <class T>
void run_embedding(const Call<T>& c) {
  const Shape& table = c.input(1).shape;
  embedding_forward(c.out(0), c.integers(0), c.in(1), c.in_size(0), table[0], table[1], shard_offset(c, c.input(1), 0));
}
template <class T>
void run_embedding_backward(const Call<T>& c) {
  const Shape& table = c.output(0).shape;
  embedding_gradient(c.out(0), c.in(0), c.integers(1), c.in_size(1), table[0], table[1],
                     shard_offset(c, c.output(0), 0), c.op.accumulate);
}
template <class T>
void run_position(const Call<T>& c) {
  const Shape& x = c.input(0).shape;
  const auto positions = sequence_positions(c.input(0), c.context.coordinate, c.context.degree);
  position_forward(c.out(0), c.in(0), c.in(1), x[0], x[1], x[2], positions.data());
}
template <class T>
void run_position_backward(const Call<T>& c) {
  const Shape& dy = c.input(0).shape;
  const auto positions = sequence_positions(c.input(0), c.context.coordinate, c.context.degree);
  position_gradient(c.out(0), c.in(0), dy[0], dy[1], dy[2], c.output(0).shape[0], c.op.accumulate, positions.data());
}

template <class T>
void run_layer_norm(const Call<T>& c) {
  const Shape& x = c.input(0).shape;
  layer_norm_forward(c.out(0), c.out(1), c.in(0), c.in(1), c.in(2), rows(x), last(x), c.attributes.epsilon);
}
template <class T>
void run_layer_norm_backward(const Call<T>& c) {
  const Shape& x = c.input(1).shape;
  layer_norm_backward(c.out(0), c.out(1), c.out(2), c.in(0), c.in(1), c.in(2), c.in(3), rows(x), last(x),
                      c.op.accumulate);
}
template <class T>
void run_rms_norm(const Call<T>& c) {
  const Shape& x = c.input(0).shape;
  rms_norm_forward(c.out(0), c.out(1), c.in(0), c.in(1), rows(x), last(x), c.attributes.epsilon);
}
template <class T>
void run_rms_norm_backward(const Call<T>& c) {
  const Shape& x = c.input(1).shape;
  rms_norm_backward(c.out(0), c.out(1), c.in(0), c.in(1), c.in(2), c.in(3), rows(x), last(x), c.op.accumulate);
}

template <class T>
void run_linear(const Call<T>& c) {
  const Product p = product_of(c, c.input(1).shape);
  linear_forward(c.out(0), c.in(0), c.in(1), c.inputs.size() > 2 ? c.in(2) : nullptr, c.in_size(0) / p.K, p.N, p.K,
                 c.attributes.transposed);
}
template <class T>
void run_linear_input_gradient(const Call<T>& c) {
  const Product p = product_of(c, c.input(1).shape);
  linear_input_gradient(c.out(0), c.in(0), c.in(1), c.in_size(0) / p.N, p.N, p.K, c.attributes.transposed);
}
template <class T>
void run_linear_weight_gradient(const Call<T>& c) {
  const Product p = product_of(c, c.output(0).shape);
  linear_weight_gradient(c.out(0), c.outputs.size() > 1 ? c.out(1) : nullptr, c.in(0), c.in(1), c.in_size(0) / p.N, p.N,
                         p.K, c.attributes.transposed, c.op.accumulate);
}
template <class T>
void run_bias(const Call<T>& c) {
  const std::int64_t N = c.in_size(1);
  bias_forward(c.out(0), c.in(0), c.in(1), c.in_size(0) / N, N);
}
template <class T>
void run_bias_backward(const Call<T>& c) {
  const std::int64_t N = c.out_size(0);
  bias_gradient(c.out(0), c.in(0), c.in_size(0) / N, N, c.op.accumulate);
}

template <class T, void (*kernel)(T*, const T*, std::int64_t)>
void run_elementwise(const Call<T>& c) {
  kernel(c.out(0), c.in(0), c.in_size(0));
}
template <class T, void (*kernel)(T*, const T*, const T*, std::int64_t)>
void run_elementwise_two(const Call<T>& c) {
  kernel(c.out(0), c.in(0), c.in(1), c.in_size(0));
}
template <class T>
void run_logits_max(const Call<T>& c) {
  const Shape& logits = c.input(0).shape;
  logits_max(c.out(0), c.in(0), rows(logits), last(logits));
}
template <class T>
void run_logits_sum(const Call<T>& c) {
  const Tensor& logits = c.input(0);
  logits_sum(c.out(0), c.in(0), c.in(1), c.integers(2), rows(logits.shape), last(logits.shape),
             shard_offset(c, logits, logits.shape.rank - 1));
}
template <class T>
void run_cross_entropy(const Call<T>& c) {
  cross_entropy_forward(c.out(0), c.in(1), c.in(2), rows(c.input(0).shape), c.attributes.tokens);
}
template <class T>
void run_cross_entropy_backward(const Call<T>& c) {
  const Tensor& logits = c.input(0);
  cross_entropy_backward(c.out(0), c.in(0), c.in(1), c.in(2), c.integers(3), rows(logits.shape), last(logits.shape),
                         shard_offset(c, logits, logits.shape.rank - 1), c.attributes.tokens);
}

template <class T>
void run_conv2d(const Call<T>& c) {
  conv2d_forward(c.out(0), c.in(0), c.in(1), conv_shape(c, c.input(0).shape, c.input(1).shape[0]), c.context.workspace);
}
template <class T>
void run_conv2d_input_gradient(const Call<T>& c) {
  conv2d_input_gradient(c.out(0), c.in(0), c.in(1), conv_shape(c, c.output(0).shape, c.input(1).shape[0]),
                        c.context.workspace);
}
template <class T>
void run_conv2d_weight_gradient(const Call<T>& c) {
  conv2d_weight_gradient(c.out(0), c.in(0), c.in(1), conv_shape(c, c.input(1).shape, c.output(0).shape[0]),
                         c.op.accumulate, c.context.workspace);
}
template <class T>
void run_batch_norm(const Call<T>& c) {
  const Shape& x = c.input(0).shape;
  batch_norm_forward(c.out(0), c.out(1), c.in(0), c.in(1), c.in(2), x[0], x[1], x.elements() / (x[0] * x[1]),
                     c.attributes.epsilon);
}
template <class T>
void run_batch_norm_backward(const Call<T>& c) {
  const Shape& x = c.input(1).shape;
  batch_norm_backward(c.out(0), c.out(1), c.out(2), c.in(0), c.in(1), c.in(2), c.in(3), x[0], x[1],
                      x.elements() / (x[0] * x[1]), c.op.accumulate);
}
template <class T>
void run_max_pool(const Call<T>& c) {
  max_pool_forward(c.out(0), static_cast<std::int32_t*>(c.outputs[1]), c.in(0), conv_shape(c, c.input(0).shape, 0));
}
template <class T>
void run_max_pool_backward(const Call<T>& c) {
  max_pool_backward(c.out(0), c.in(0), c.integers(1), conv_shape(c, c.output(0).shape, 0));
}
template <class T>
void run_mean_pool(const Call<T>& c) {
  mean_pool_forward(c.out(0), c.in(0), c.out_size(0), c.in_size(0) / c.out_size(0));
}
template <class T>
void run_mean_pool_backward(const Call<T>& c) {
  mean_pool_backward(c.out(0), c.in(0), c.in_size(0), c.out_size(0) / c.in_size(0));
}

template <class T>
void run_optimizer(const Call<T>& c) {
  const std::size_t n = c.inputs.size();
  UpdateRule rule;
  rule.learning_rate = c.context.learning_rate;
  rule.step = c.context.step;
  rule.decoupled = c.context.optimizer == OptimizerKind::adamw;
  const auto update = [&](std::size_t i, const Tensor& parameter, std::int64_t from, std::int64_t size) {
    const bool decays = rule.decoupled && c.context.parameters[static_cast<std::size_t>(parameter.parameter)].decay;
    rule.weight_decay = decays ? c.context.weight_decay : 0;
    switch (c.context.optimizer) {
      case OptimizerKind::sgd:
        sgd_update(c.out(i) + from, c.in(i) + from, size, rule);
        break;
      case OptimizerKind::momentum:
        momentum_update(c.out(i) + from, c.out(n + i) + from, c.in(i) + from, size, rule);
        break;
      case OptimizerKind::adam:
      case OptimizerKind::adamw:
        adam_update(c.out(i) + from, c.out(n + 2 * i) + from, c.out(n + 2 * i + 1) + from, c.in(i) + from, size, rule);
        break;
    }
  };
  for (std::size_t i = 0; i < n; ++i) {
    const Tensor& tensor = c.output(i);
    if (tensor.flat < 0) {
      update(i, tensor, 0, tensor.shape.elements());
    } else {
      for_each_piece(
          c.program, tensor, c.context.coordinate,
          [&](const Tensor& parameter, std::int64_t from, std::int64_t size) { update(i, parameter, from, size); });
    }
  }
}

// What several ranks of a group keep is counted on the first of them.
template <class T>
bool counts_here(const Call<T>& c, const Tensor& tensor) {
  for (const Axis axis : {Axis::tensor, Axis::expert}) {
    const auto a = static_cast<std::size_t>(axis);
    if (tensor.placement[a].kind != Placement::Kind::shard && c.context.coordinate[a] != 0) return false;
  }
  return true;
}
template <class T>
void run_squared_norm(const Call<T>& c) {
  double sum = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const T* values = c.in(i);
    const auto add = [&](const Tensor& tensor, std::int64_t from, std::int64_t size) {
      if (!counts_here(c, tensor)) return;
      for (std::int64_t k = from; k < from + size; ++k)
        sum += static_cast<double>(values[k]) * static_cast<double>(values[k]);
    };
    const Tensor& tensor = c.input(i);
    if (tensor.flat < 0) {
      add(tensor, 0, tensor.shape.elements());
    } else {
      for_each_piece(c.program, tensor, c.context.coordinate, add);
    }
  }
  *c.out(0) = static_cast<T>(sum);
}
// As torch.nn.utils.clip_grad_norm_.
template <class T>
void run_clip(const Call<T>& c) {
  const double norm = std::sqrt(static_cast<double>(*c.in(0)));
  const auto factor = static_cast<T>(std::min(1.0, c.context.gradient_clip / (norm + 1e-6)));
  for (std::size_t i = 0; i < c.outputs.size(); ++i)
    for (std::int64_t k = 0; k < c.out_size(i); ++k) c.out(i)[k] *= factor;
}

template <class T>
struct Row {
  OpKind kind;
  Role role;
  void (*run)(const Call<T>&);
};

template <class T>
constexpr Row<T> rows_of_table[] = {
    {OpKind::embedding, Role::forward, run_embedding<T>},
    {OpKind::embedding, Role::backward, run_embedding_backward<T>},
    {OpKind::position, Role::forward, run_position<T>},
    {OpKind::position, Role::backward, run_position_backward<T>},
    {OpKind::layer_norm, Role::forward, run_layer_norm<T>},
    {OpKind::layer_norm, Role::backward, run_layer_norm_backward<T>},
    {OpKind::rms_norm, Role::forward, run_rms_norm<T>},
    {OpKind::rms_norm, Role::backward, run_rms_norm_backward<T>},
    {OpKind::linear, Role::forward, run_linear<T>},
    {OpKind::linear, Role::input_gradient, run_linear_input_gradient<T>},
    {OpKind::linear, Role::weight_gradient, run_linear_weight_gradient<T>},
    {OpKind::bias, Role::forward, run_bias<T>},
    {OpKind::bias, Role::backward, run_bias_backward<T>},
    {OpKind::rotary, Role::forward, run_rotary<T>},
    {OpKind::rotary, Role::backward, run_rotary<T>},
    {OpKind::attention, Role::forward, run_attention<T>},
    {OpKind::attention, Role::backward, run_attention_backward<T>},
    {OpKind::keys_values, Role::forward, run_keys_values<T>},
    {OpKind::qk_norm, Role::forward, run_qk_norm<T>},
    {OpKind::qk_norm, Role::backward, run_qk_norm_backward<T>},
    {OpKind::router, Role::forward, run_router<T>},
    {OpKind::router, Role::backward, run_router_backward<T>},
    {OpKind::dispatch, Role::forward, run_dispatch<T>},
    {OpKind::dispatch, Role::backward, run_dispatch_backward<T>},
    {OpKind::expert_linear, Role::forward, run_expert_linear<T>},
    {OpKind::expert_linear, Role::input_gradient, run_expert_linear_input_gradient<T>},
    {OpKind::expert_linear, Role::weight_gradient, run_expert_linear_weight_gradient<T>},
    {OpKind::combine, Role::forward, run_combine<T>},
    {OpKind::combine, Role::backward, run_combine_backward<T>},
    {OpKind::keys_values, Role::backward, run_keys_values_backward<T>},
    {OpKind::gelu, Role::forward, run_elementwise<T, gelu_forward<T>>},
    {OpKind::gelu, Role::backward, run_elementwise_two<T, gelu_backward<T>>},
    {OpKind::relu, Role::forward, run_elementwise<T, relu_forward<T>>},
    {OpKind::relu, Role::backward, run_elementwise_two<T, relu_backward<T>>},
    {OpKind::swiglu, Role::forward, run_swiglu<T>},
    {OpKind::swiglu, Role::backward, run_swiglu_backward<T>},
    {OpKind::add, Role::forward, run_elementwise_two<T, add<T>>},
    {OpKind::logits_max, Role::forward, run_logits_max<T>},
    {OpKind::logits_sum, Role::forward, run_logits_sum<T>},
    {OpKind::cross_entropy, Role::forward, run_cross_entropy<T>},
    {OpKind::cross_entropy, Role::backward, run_cross_entropy_backward<T>},
    {OpKind::conv2d, Role::forward, run_conv2d<T>},
    {OpKind::conv2d, Role::input_gradient, run_conv2d_input_gradient<T>},
    {OpKind::conv2d, Role::weight_gradient, run_conv2d_weight_gradient<T>},
    {OpKind::batch_norm, Role::forward, run_batch_norm<T>},
    {OpKind::batch_norm, Role::backward, run_batch_norm_backward<T>},
    {OpKind::max_pool, Role::forward, run_max_pool<T>},
    {OpKind::max_pool, Role::backward, run_max_pool_backward<T>},
    {OpKind::mean_pool, Role::forward, run_mean_pool<T>},
    {OpKind::mean_pool, Role::backward, run_mean_pool_backward<T>},
    {OpKind::optimizer, Role::update, run_optimizer<T>},
    {OpKind::squared_norm, Role::update, run_squared_norm<T>},
    {OpKind::clip, Role::update, run_clip<T>},
};

template <class T>
using Table = std::array<std::array<void (*)(const Call<T>&), role_count>, op_kind_count>;

template <class T>
constexpr Table<T> make_table() {
  Table<T> table{};
  for (const Row<T>& row : rows_of_table<T>)
    table[static_cast<std::size_t>(row.kind)][static_cast<std::size_t>(row.role)] = row.run;
  // A sum of two gradients is the same addition whatever kind it is filed under.
  for (auto& kind : table) kind[static_cast<std::size_t>(Role::sum_gradients)] = run_elementwise_two<T, add<T>>;
  return table;
}
template <class T>
constexpr Table<T> table_of = make_table<T>();

}  // namespace

bool has_kernel(OpKind kind, Role role) {
  return table_of<float>[static_cast<std::size_t>(kind)][static_cast<std::size_t>(role)] != nullptr;
}

template <class T>
void run_operation(const Program& program, const Op& op, std::span<void* const> inputs, std::span<void* const> outputs,
                   OperationContext<T>& context) {
  const auto run = table_of<T>[static_cast<std::size_t>(op.kind)][static_cast<std::size_t>(op.role)];
  if (run == nullptr) throw std::logic_error(op_name(program, op) + ": no kernel for this kind and role");
  static const Attributes none;
  const Attributes& attributes = program.attributes.empty() ? none : program.attributes[op.attributes];
  run(Call<T>{program, op, attributes, inputs, outputs, context});
}

template void run_operation(const Program&, const Op&, std::span<void* const>, std::span<void* const>,
                            OperationContext<float>&);
template void run_operation(const Program&, const Op&, std::span<void* const>, std::span<void* const>,
                            OperationContext<double>&);

}  // namespace trainwire::cpu
