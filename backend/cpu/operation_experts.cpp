// Mixtures of experts: which rows are where follows from what the router chose in this very step.
#include <algorithm>
#include <cmath>

#include "backend/common/random.h"
#include "backend/common/shard.h"
#include "backend/cpu/call.h"
#include "backend/cpu/kernels/experts.h"
#include "sim/model/model.h"

namespace trainwire::cpu {
namespace {

RoutedShape routed(const Tensor& t) { return {t.routed.parts, t.routed.experts, t.routed.rows, last(t.shape)}; }

// Keys whose largest k are k draws without replacement from the given distribution (Gumbel-top-k; Kool et al. 2019):
// the same for a token wherever it is worked on.
template <class T>
std::vector<T> drawn_keys(const Call<T>& c) {
  const Tensor& logits = c.input(0);
  const std::int64_t experts = last(logits.shape), sequences = logits.shape[0];
  const auto share =
      distribution_over_experts(experts, static_cast<double>(c.attributes.imbalance), c.attributes.routing_seed);
  const auto positions = sequence_positions(logits, c.context.coordinate, c.context.degree);
  const std::int64_t first = (c.context.replica * c.context.micro_batches + c.op.micro_batch) * sequences;
  std::vector<T> keys;
  for (std::int64_t b = 0; b < sequences; ++b)
    for (const std::int64_t position : positions)
      for (std::int64_t e = 0; e < experts; ++e) {
        const double draw = uniform(hash(static_cast<std::uint64_t>(c.attributes.routing_seed), c.op.layer,
                                         c.context.step, first + b, position, e));
        keys.push_back(static_cast<T>(std::log(std::max(share[static_cast<std::size_t>(e)], 1e-300)) -
                                      std::log(-std::log(std::max(draw, 1e-300)))));
      }
  return keys;
}

}  // namespace

template <class T>
void run_router(const Call<T>& c) {
  const std::int64_t experts = last(c.input(0).shape);
  std::vector<T> keys;
  if (c.attributes.imbalance > 0) keys = drawn_keys(c);
  router_forward(c.out(0), static_cast<std::int32_t*>(c.outputs[1]), c.in(0), keys.empty() ? nullptr : keys.data(),
                 c.in_size(0) / experts, experts, c.attributes.top_k);
}
template <class T>
void run_router_backward(const Call<T>& c) {
  const std::int64_t experts = last(c.output(0).shape);
  router_backward(c.out(0), c.in(0), c.in(1), c.integers(2), c.out_size(0) / experts, experts, c.attributes.top_k);
}

template <class T>
void run_dispatch(const Call<T>& c) {
  const std::int64_t k = c.attributes.top_k;
  dispatch_forward(c.out(0), c.in(0), c.integers(1), c.in_size(1) / k, k, routed(c.output(0)));
}
template <class T>
void run_dispatch_backward(const Call<T>& c) {
  const std::int64_t k = c.attributes.top_k;
  dispatch_backward(c.out(0), c.in(0), c.integers(1), c.in_size(1) / k, k, routed(c.input(0)));
}

template <class T>
void run_combine(const Call<T>& c) {
  const std::int64_t k = c.attributes.top_k;
  combine_forward(c.out(0), c.in(0), c.in(1), c.integers(2), c.in_size(2) / k, k, routed(c.input(0)));
}
template <class T>
void run_combine_backward(const Call<T>& c) {
  const std::int64_t k = c.attributes.top_k;
  combine_backward(c.out(0), c.out(1), c.in(0), c.in(1), c.in(2), c.integers(3), c.in_size(3) / k, k,
                   routed(c.input(1)));
}

template <class T>
void run_expert_linear(const Call<T>& c) {
  expert_linear_forward(c.out(0), c.in(0), c.in(1), routed(c.output(0)), routed(c.input(0)));
}
template <class T>
void run_expert_linear_input_gradient(const Call<T>& c) {
  expert_linear_input_gradient(c.out(0), c.in(0), c.in(1), routed(c.output(0)), routed(c.input(0)));
}
template <class T>
void run_expert_linear_weight_gradient(const Call<T>& c) {
  expert_linear_weight_gradient(c.out(0), c.in(0), c.in(1), routed(c.input(0)), routed(c.input(1)), c.op.accumulate);
}

template <class T>
void run_swiglu(const Call<T>& c) {
  const Tensor &x = c.input(0), &y = c.output(0);
  if (x.routed.parts > 0) return routed_swiglu_forward(c.out(0), c.in(0), routed(y), routed(x));
  swiglu_forward(c.out(0), c.in(0), rows(y.shape), last(y.shape));
}
template <class T>
void run_swiglu_backward(const Call<T>& c) {
  const Tensor &dy = c.input(0), &x = c.input(1);
  if (x.routed.parts > 0) return routed_swiglu_backward(c.out(0), c.in(0), c.in(1), routed(x), routed(dy));
  swiglu_backward(c.out(0), c.in(0), c.in(1), rows(dy.shape), last(dy.shape));
}

template <class T>
void run_qk_norm(const Call<T>& c) {
  qk_norm_forward(c.out(0), c.out(1), c.in(0), c.in(1), attention_shape(c, c.input(0).shape), c.attributes.epsilon);
}
template <class T>
void run_qk_norm_backward(const Call<T>& c) {
  qk_norm_backward(c.out(0), c.out(1), c.in(0), c.in(1), c.in(2), c.in(3), attention_shape(c, c.input(1).shape),
                   c.op.accumulate);
}

#define INSTANTIATE(T)                                             \
  template void run_router(const Call<T>&);                        \
  template void run_router_backward(const Call<T>&);               \
  template void run_dispatch(const Call<T>&);                      \
  template void run_dispatch_backward(const Call<T>&);             \
  template void run_combine(const Call<T>&);                       \
  template void run_combine_backward(const Call<T>&);              \
  template void run_expert_linear(const Call<T>&);                 \
  template void run_expert_linear_input_gradient(const Call<T>&);  \
  template void run_expert_linear_weight_gradient(const Call<T>&); \
  template void run_swiglu(const Call<T>&);                        \
  template void run_swiglu_backward(const Call<T>&);               \
  template void run_qk_norm(const Call<T>&);                       \
  template void run_qk_norm_backward(const Call<T>&);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace trainwire::cpu
