// RMS norm of query and key heads inside the fused QKV tensor.
#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/matrix.h"

namespace trainwire::cpu {
namespace {

// Calls visit(offset of the head in qkv, offset of its gain, index of its statistic) for every query and key head, and
// keep(offset) for every value head.
template <class Visit, class Keep>
void for_each_head(const AttentionShape& s, const Visit& visit, const Keep& keep) {
  const Index g = s.group(), d = s.head_dim;
  Index statistic = 0, offset = 0;
  for (Index row = 0; row < s.B * s.S; ++row)
    for (Index kv = 0; kv < s.kv_heads; ++kv)
      for (Index part = 0; part < g + 2; ++part, offset += d) {
        if (part == g + 1)
          keep(offset);
        else
          visit(offset, part < g ? 0 : d, statistic++);
      }
}

}  // namespace

template <class T>
void qk_norm_forward(T* y, T* statistics, const T* x, const T* gain, const AttentionShape& s, float epsilon) {
  const Index d = s.head_dim;
  for_each_head(
      s,
      [&](Index at, Index of_gain, Index i) {
        const ConstArray<T> head(x + at, d);
        statistics[i] = T(1) / std::sqrt(head.square().mean() + static_cast<T>(epsilon));
        Array<T>(y + at, d) = head * statistics[i] * ConstArray<T>(gain + of_gain, d);
      },
      [&](Index at) { std::copy_n(x + at, d, y + at); });
}

template <class T>
void qk_norm_backward(T* dx, T* dgain, const T* dy, const T* x, const T* gain, const T* statistics,
                      const AttentionShape& s, bool accumulate) {
  const Index d = s.head_dim;
  if (!accumulate) std::fill_n(dgain, 2 * d, T(0));
  for_each_head(
      s,
      [&](Index at, Index of_gain, Index i) {
        const ConstArray<T> gradient(dy + at, d), head(x + at, d), scale(gain + of_gain, d);
        const T r = statistics[i], dot = (gradient * scale * head).mean() * r * r;
        Array<T>(dx + at, d) = r * (gradient * scale - head * dot);
        Array<T>(dgain + of_gain, d) += gradient * head * r;
      },
      [&](Index at) { std::copy_n(dy + at, d, dx + at); });
}

#define INSTANTIATE(T)                                                                     \
  template void qk_norm_forward(T*, T*, const T*, const T*, const AttentionShape&, float); \
  template void qk_norm_backward(T*, T*, const T*, const T*, const T*, const T*, const AttentionShape&, bool);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace trainwire::cpu
