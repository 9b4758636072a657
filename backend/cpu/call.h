// What a row of the table of kernels gets: one operation with its operands. Included by the rows' files alone.
#pragma once
#include "backend/cpu/operation.h"

namespace trainwire::cpu {

// One operation with its operands: in(i), out(i) and their tensors.
template <class T>
struct Call {
  const Program& program;
  const Op& op;
  const Attributes& attributes;
  std::span<void*const> inputs, outputs;
  OperationContext<T>& context;

  const T* in(std::size_t i) const { return static_cast<const T*>(inputs[i]); }
  T* out(std::size_t i) const { return static_cast<T*>(outputs[i]); }
  const std::int32_t* integers(std::size_t i) const { return static_cast<const std::int32_t*>(inputs[i]); }
  const Tensor& input(std::size_t i) const { return program.tensor(program.inputs(op)[i]); }
  const Tensor& output(std::size_t i) const { return program.tensor(program.outputs(op)[i]); }
  std::int64_t in_size(std::size_t i) const { return input(i).shape.elements(); }
  std::int64_t out_size(std::size_t i) const { return output(i).shape.elements(); }
};

inline std::int64_t last(const Shape& s) { return s[s.rank - 1]; }
inline std::int64_t rows(const Shape& s) { return s.elements() / last(s); }

// The first index of the rank's shard on dimension `dim` of a tensor.
template <class T>
std::int64_t shard_offset(const Call<T>& c, const Tensor& tensor, int dim) {
  for (std::size_t axis = 0; axis < axis_count; ++axis) {
    const Placement& p = tensor.placement[axis];
    if (p.kind == Placement::Kind::shard && p.dim == dim) return c.context.coordinate[axis] * tensor.shape[dim];
  }
  return 0;
}

template <class T>
AttentionShape attention_shape(const Call<T>& c, const Shape& qkv) {
  const Attributes& a = c.attributes;
  return {qkv[0], qkv[1], a.heads, a.kv_heads, a.head_dim, a.causal};
}

// Rows with a file of their own.
template <class T>
void run_rotary(const Call<T>& c);
template <class T>
void run_attention(const Call<T>& c);
template <class T>
void run_attention_backward(const Call<T>& c);
template <class T>
void run_keys_values(const Call<T>& c);
template <class T>
void run_keys_values_backward(const Call<T>& c);
template <class T>
void run_router(const Call<T>& c);
template <class T>
void run_router_backward(const Call<T>& c);
template <class T>
void run_dispatch(const Call<T>& c);
template <class T>
void run_dispatch_backward(const Call<T>& c);
template <class T>
void run_combine(const Call<T>& c);
template <class T>
void run_combine_backward(const Call<T>& c);
template <class T>
void run_expert_linear(const Call<T>& c);
template <class T>
void run_expert_linear_input_gradient(const Call<T>& c);
template <class T>
void run_expert_linear_weight_gradient(const Call<T>& c);
template <class T>
void run_swiglu(const Call<T>& c);
template <class T>
void run_swiglu_backward(const Call<T>& c);
template <class T>
void run_qk_norm(const Call<T>& c);
template <class T>
void run_qk_norm_backward(const Call<T>& c);

}  // namespace trainwire::cpu
