// Attention and what goes with it: which tokens a rank's queries and keys are follows from placements.
#include "backend/common/shard.h"
#include "backend/cpu/call.h"

namespace trainwire::cpu {
namespace {

// Positions of the queries, and of the keys that all members (gathered, in their order) or one of them (ring) have.
template <class T>
Positions positions_of(const Call<T>& c, const Tensor& qkv) {
  constexpr auto axis = static_cast<std::size_t>(Axis::context);
  const Coordinates& degree = c.context.degree;
  Coordinates at = c.context.coordinate;
  Positions positions;
  positions.queries = sequence_positions(qkv, at, degree);
  const int own = at[axis], step = c.attributes.ring_step;
  for (int member = 0; member < degree[axis]; ++member) {
    if (step >= 0 && member != (own - step + degree[axis]) % degree[axis]) continue;
    at[axis] = member;
    const auto keys = sequence_positions(qkv, at, degree);
    positions.keys.insert(positions.keys.end(), keys.begin(), keys.end());
  }
  return positions;
}

}  // namespace

template <class T>
void run_rotary(const Call<T>& c) {
  const auto positions = sequence_positions(c.input(0), c.context.coordinate, c.context.degree);
  rotary(c.out(0), c.in(0), attention_shape(c, c.input(0).shape), c.attributes.rotary_theta,
         c.op.role == Role::backward, c.context.workspace, positions.data());
}

template <class T>
void run_attention(const Call<T>& c) {
  const AttentionShape shape = attention_shape(c, c.input(0).shape);
  if (c.inputs.size() == 1) return attention_forward(c.out(0), c.out(1), c.in(0), shape, c.context.workspace);
  attention_block_forward(c.out(0), c.out(1), c.in(0), c.in(1), shape, positions_of(c, c.input(0)),
                          c.attributes.ring_step > 0, c.context.workspace);
}

template <class T>
void run_attention_backward(const Call<T>& c) {
  const AttentionShape shape = attention_shape(c, c.input(1).shape);
  if (c.inputs.size() == 4)
    return attention_backward(c.out(0), c.in(0), c.in(1), c.in(2), c.in(3), shape, c.context.workspace);
  attention_block_backward(c.out(0), c.out(1), c.in(0), c.in(1), c.in(4), c.in(2), c.in(3), shape,
                           positions_of(c, c.input(1)), c.inputs.size() > 5, c.inputs.size() > 6, c.context.workspace);
}

template <class T>
void run_keys_values(const Call<T>& c) {
  keys_values(c.out(0), c.in(0), attention_shape(c, c.input(0).shape));
}

template <class T>
void run_keys_values_backward(const Call<T>& c) {
  keys_values_gradient(c.out(0), c.in(0), attention_shape(c, c.output(0).shape));
}

#define INSTANTIATE(T)                                  \
  template void run_rotary(const Call<T>&);             \
  template void run_attention(const Call<T>&);          \
  template void run_attention_backward(const Call<T>&); \
  template void run_keys_values(const Call<T>&);        \
  template void run_keys_values_backward(const Call<T>&);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace trainwire::cpu
