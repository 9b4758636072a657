// Attention of a rank's queries over keys and values that come from other ranks too, in any order: what a query sees
// follows from positions. Blocks of keys are joined through their log-sum-exps (Liu et al. 2023, ring attention), and
// backward recomputes the probabilities from the final one (Dao et al. 2022).
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/matrix.h"

namespace trainwire::cpu {
namespace {

// The parts of query head `head` in rows of qkv and of kv.
template <class T>
struct HeadViews {
  ConstSlice<T> q, k, v;
  Index q_at, k_at, v_at;
};
template <class T>
HeadViews<T> views(const T* qkv, const T* kv, const AttentionShape& s, Index keys, Index b, Index head) {
  const Index g = s.group(), d = s.head_dim, width = s.qkv_width(), kv_width = s.kv_heads * 2 * d;
  const Index q_at = b * s.S * width + (head / g * (g + 2) + head % g) * d;
  const Index k_at = b * keys * kv_width + head / g * 2 * d, v_at = k_at + d;
  const Eigen::OuterStride<> stride(width), kv_stride(kv_width);
  return {ConstSlice<T>(qkv + q_at, s.S, d, stride),
          ConstSlice<T>(kv + k_at, keys, d, kv_stride),
          ConstSlice<T>(kv + v_at, keys, d, kv_stride),
          q_at,
          k_at,
          v_at};
}

template <class T>
void block_scores(Matrix<T>& scores, const HeadViews<T>& view, const AttentionShape& s, const Positions& positions) {
  scores.noalias() = view.q * view.k.transpose();
  scores *= T(1) / std::sqrt(static_cast<T>(s.head_dim));
  if (!s.causal) return;
  for (Index r = 0; r < scores.rows(); ++r)
    for (Index c = 0; c < scores.cols(); ++c)
      if (positions.keys[static_cast<std::size_t>(c)] > positions.queries[static_cast<std::size_t>(r)])
        scores(r, c) = -std::numeric_limits<T>::infinity();
}

}  // namespace

template <class T>
void attention_block_forward(T* o, T* lse, const T* qkv, const T* kv, const AttentionShape& s,
                             const Positions& positions, bool join, Workspace<T>& workspace) {
  constexpr T nothing = -std::numeric_limits<T>::infinity();
  const Index keys = static_cast<Index>(positions.keys.size()), d = s.head_dim, width = s.heads * d;
  T* memory = workspace.scratch(s.S * (keys + d));
  Matrix<T> scores(memory, s.S, keys), fresh(memory + s.S * keys, s.S, d);
  for (Index b = 0; b < s.B; ++b)
    for (Index head = 0; head < s.heads; ++head) {
      const HeadViews<T> view = views(qkv, kv, s, keys, b, head);
      block_scores(scores, view, s, positions);
      T* log_sums = lse + (b * s.heads + head) * s.S;
      Slice<T> out(o + b * s.S * width + head * d, s.S, d, Eigen::OuterStride<>(width));
      if (!join) {
        out.setZero();
        std::fill_n(log_sums, s.S, nothing);
      }
      for (Index r = 0; r < s.S; ++r) {
        const T max = scores.row(r).maxCoeff();
        if (max == nothing) {  // sees no key of this block
          scores.row(r).setZero();
          continue;
        }
        const T sum = (scores.row(r).array() - max).exp().sum(), block = max + std::log(sum);
        const T larger = std::max(block, log_sums[r]);
        const T total = larger + std::log(std::exp(block - larger) + std::exp(log_sums[r] - larger));
        out.row(r) *= std::exp(log_sums[r] - total);
        scores.row(r) = (scores.row(r).array() - total).exp();
        log_sums[r] = total;
      }
      fresh.noalias() = scores * view.v;
      out += fresh;
    }
}

template <class T>
void attention_block_backward(T* dqkv, T* dkv, const T* d_o, const T* qkv, const T* kv, const T* o, const T* lse,
                              const AttentionShape& s, const Positions& positions, bool add_queries, bool add_keys,
                              Workspace<T>& workspace) {
  const Index keys = static_cast<Index>(positions.keys.size()), d = s.head_dim, width = s.heads * d;
  const T scale = T(1) / std::sqrt(static_cast<T>(d));
  if (!add_queries) std::fill_n(dqkv, s.B * s.S * s.qkv_width(), T(0));
  if (!add_keys) std::fill_n(dkv, s.B * keys * s.kv_heads * 2 * d, T(0));
  T* memory = workspace.scratch(2 * s.S * keys);
  Matrix<T> p(memory, s.S, keys), dp(memory + s.S * keys, s.S, keys);
  for (Index b = 0; b < s.B; ++b)
    for (Index head = 0; head < s.heads; ++head) {
      const HeadViews<T> view = views(qkv, kv, s, keys, b, head);
      const Index at = b * s.S * width + head * d;
      const ConstSlice<T> out(o + at, s.S, d, Eigen::OuterStride<>(width));
      const ConstSlice<T> gradient(d_o + at, s.S, d, Eigen::OuterStride<>(width));
      block_scores(p, view, s, positions);
      dp.noalias() = gradient * view.v.transpose();
      const T* log_sums = lse + (b * s.heads + head) * s.S;
      for (Index r = 0; r < s.S; ++r) {
        const T dot = out.row(r).dot(gradient.row(r));
        p.row(r) = (p.row(r).array() - log_sums[r]).exp();
        dp.row(r) = p.row(r).array() * (dp.row(r).array() - dot) * scale;
      }
      const Eigen::OuterStride<> stride(s.qkv_width()), kv_stride(s.kv_heads * 2 * d);
      Slice<T>(dqkv + view.q_at, s.S, d, stride).noalias() += dp * view.k;
      Slice<T>(dkv + view.k_at, keys, d, kv_stride).noalias() += dp.transpose() * view.q;
      Slice<T>(dkv + view.v_at, keys, d, kv_stride).noalias() += p.transpose() * gradient;
    }
}

template <class T>
void keys_values(T* kv, const T* qkv, const AttentionShape& s) {
  const Index g = s.group(), d = s.head_dim;
  for (Index row = 0; row < s.B * s.S; ++row)
    for (Index head = 0; head < s.kv_heads; ++head)
      std::copy_n(qkv + row * s.qkv_width() + (head * (g + 2) + g) * d, 2 * d, kv + (row * s.kv_heads + head) * 2 * d);
}

template <class T>
void keys_values_gradient(T* dqkv, const T* dkv, const AttentionShape& s) {
  const Index g = s.group(), d = s.head_dim;
  for (Index row = 0; row < s.B * s.S; ++row)
    for (Index head = 0; head < s.kv_heads; ++head)
      std::copy_n(dkv + (row * s.kv_heads + head) * 2 * d, 2 * d,
                  dqkv + row * s.qkv_width() + (head * (g + 2) + g) * d);
}

#define INSTANTIATE(T)                                                                                             \
  template void attention_block_forward(T*, T*, const T*, const T*, const AttentionShape&, const Positions&, bool, \
                                        Workspace<T>&);                                                            \
  template void attention_block_backward(T*, T*, const T*, const T*, const T*, const T*, const T*,                 \
                                         const AttentionShape&, const Positions&, bool, bool, Workspace<T>&);      \
  template void keys_values(T*, const T*, const AttentionShape&);                                                  \
  template void keys_values_gradient(T*, const T*, const AttentionShape&);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace trainwire::cpu
