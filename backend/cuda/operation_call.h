// One operation with its operands, as the rows of the table see it. Included by operation*.cpp alone.
#pragma once
#include <algorithm>
#include <initializer_list>

#include "backend/cuda/operation.h"

namespace trainwire::cuda {

struct Call {
  const Program& program;
  const Op& op;
  const Attributes& attributes;
  std::span<void*const> inputs, outputs;
  const OperationContext& context;
  Sink& sink;

  void* in(std::size_t i) const { return inputs[i]; }
  void* out(std::size_t i) const { return outputs[i]; }
  const Tensor& input(std::size_t i) const { return program.tensor(program.inputs(op)[i]); }
  const Tensor& output(std::size_t i) const { return program.tensor(program.outputs(op)[i]); }
  std::int64_t in_size(std::size_t i) const { return input(i).shape.elements(); }
  std::int64_t out_size(std::size_t i) const { return output(i).shape.elements(); }

  // What the operation's activations are stored as: its first operand that is neither an integer nor a gradient or
  // state of a parameter.
  Type type() const {
    for (const std::span<const BufferId> list : {program.inputs(op), program.outputs(op)})
      for (const BufferId b : list) {
        const Tensor& t = program.tensor(b);
        if (t.dtype != DType::int32 && t.category != Category::gradient && t.category != Category::optimizer)
          return type_of(t.dtype);
      }
    return type_of(input(0).dtype);  // gradients of parameters alone: a sum of two
  }
  std::int64_t sum_bytes() const { return type() == Type::fp64 ? 8 : 4; }

  void launch(Kernel kernel, std::initializer_list<void*> p, std::initializer_list<std::int64_t> n,
              std::initializer_list<double> x = {}, Type gradient = Type::fp32) const {
    Launch l;
    l.kernel = kernel;
    l.type = type();
    l.gradient = gradient;
    l.accumulate = op.accumulate;
    std::copy(p.begin(), p.end(), l.p.begin());
    std::copy(n.begin(), n.end(), l.n.begin());
    std::copy(x.begin(), x.end(), l.x.begin());
    sink.launch(l);
  }
  void launch(Kernel kernel, std::initializer_list<void*> p, std::initializer_list<std::int64_t> n,
              std::initializer_list<double> x, const Tensor& gradient) const {
    launch(kernel, p, n, x, type_of(gradient.dtype));
  }
  void launch_window(Kernel kernel, std::initializer_list<void*> p, const Shape& x) const {
    const Attributes& a = attributes;
    launch(kernel, p, {x[0], x[1], x[2], x[3], a.kernel, a.stride, a.padding});
  }
};

inline std::int64_t last(const Shape& s) { return s[s.rank - 1]; }
inline std::int64_t rows(const Shape& s) { return s.elements() / last(s); }

// The first index of the rank's shard on dimension `dim` of a tensor.
std::int64_t shard_offset(const Call& c, const Tensor& tensor, int dim);

// Into how many chunks of rows a sum down N columns is cut: enough work for the whole device, at least 16 rows each.
inline std::int64_t chunks_of(std::int64_t rows, std::int64_t N) {
  constexpr std::int64_t threads = 131072, most = 256;
  return std::max<std::int64_t>(1, std::min({threads / N, rows / 16, most}));
}

// outputs[o] (N) = the sums down the columns of dy (…,N)
void column_sums(const Call& c, std::size_t o, void* dy, std::int64_t N);

void run_linear(const Call& c);
void run_linear_input_gradient(const Call& c);
void run_linear_weight_gradient(const Call& c);
void run_conv2d(const Call& c);
void run_conv2d_input_gradient(const Call& c);
void run_conv2d_weight_gradient(const Call& c);
void run_attention_forward(const Call& c);
void run_attention_backward(const Call& c);
void run_optimizer(const Call& c);

}  // namespace trainwire::cuda
