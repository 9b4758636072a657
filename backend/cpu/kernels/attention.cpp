// Attention head by head and block of query rows by block, so that all the work is in small matrix products; with a
// causal mask a block sees only the keys up to its last row, which halves the work. Backward recomputes the
// probabilities from the log-sum-exp, as FlashAttention does (Dao et al. 2022).
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/matrix.h"

namespace trainwire::cpu {
namespace {

constexpr Index block_rows = 64;

// Where the parts of query head h lie in a row of the fused QKV tensor.
struct HeadOffsets {
  Index q, k, v;
};
HeadOffsets offsets(const AttentionShape& s, Index head) {
  const Index g = s.group(), base = head / g * (g + 2);
  return {(base + head % g) * s.head_dim, (base + g) * s.head_dim, (base + g + 1) * s.head_dim};
}

// scores (n, columns) = q kᵀ · scale; columns after the diagonal get −infinity.
template <class T, class Q, class K>
void masked_scores(Matrix<T>& scores, const Q& q, const K& k, T scale, bool causal, Index first_row) {
  scores.noalias() = q * k.transpose();
  scores *= scale;
  if (!causal) return;
  for (Index r = 0; r < scores.rows(); ++r) {
    const Index seen = first_row + r + 1;
    if (seen < scores.cols()) scores.row(r).tail(scores.cols() - seen).setConstant(-std::numeric_limits<T>::infinity());
  }
}

}  // namespace

template <class T>
void attention_forward(T* o, T* lse, const T* qkv, const AttentionShape& s, Workspace<T>& workspace) {
  const Index width = s.qkv_width(), d = s.head_dim, out_width = s.heads * d;
  const T scale = T(1) / std::sqrt(static_cast<T>(d));
  T* memory = workspace.scratch(std::min(block_rows, s.S) * s.S);
  for (Index b = 0; b < s.B; ++b) {
    for (Index head = 0; head < s.heads; ++head) {
      const HeadOffsets at = offsets(s, head);
      const T* rows = qkv + b * s.S * width;
      for (Index first = 0; first < s.S; first += block_rows) {
        const Index n = std::min(block_rows, s.S - first), columns = s.causal ? first + n : s.S;
        const ConstSlice<T> q(rows + first * width + at.q, n, d, Eigen::OuterStride<>(width));
        const ConstSlice<T> k(rows + at.k, columns, d, Eigen::OuterStride<>(width));
        const ConstSlice<T> v(rows + at.v, columns, d, Eigen::OuterStride<>(width));
        Matrix<T> scores(memory, n, columns);
        masked_scores(scores, q, k, scale, s.causal, first);
        T* log_sums = lse + (b * s.heads + head) * s.S + first;
        for (Index r = 0; r < n; ++r) {
          Array<T> row(memory + r * columns, columns);
          const T max = row.maxCoeff();
          row = (row - max).exp();
          const T sum = row.sum();
          row *= T(1) / sum;
          log_sums[r] = max + std::log(sum);
        }
        Slice<T> out(o + (b * s.S + first) * out_width + head * d, n, d, Eigen::OuterStride<>(out_width));
        out.noalias() = scores * v;
      }
    }
  }
}

template <class T>
void attention_backward(T* dqkv, const T* d_o, const T* qkv, const T* o, const T* lse, const AttentionShape& s,
                        Workspace<T>& workspace) {
  const Index width = s.qkv_width(), d = s.head_dim, out_width = s.heads * d;
  const T scale = T(1) / std::sqrt(static_cast<T>(d));
  const Index block = std::min(block_rows, s.S);
  T* memory = workspace.scratch(2 * block * s.S);
  std::fill_n(dqkv, s.B * s.S * width, T(0));  // keys and values gather from several heads and blocks
  const Eigen::OuterStride<> stride(width), out_stride(out_width);
  for (Index b = 0; b < s.B; ++b) {
    for (Index head = 0; head < s.heads; ++head) {
      const HeadOffsets at = offsets(s, head);
      const T* rows = qkv + b * s.S * width;
      T* row_gradients = dqkv + b * s.S * width;
      for (Index first = 0; first < s.S; first += block_rows) {
        const Index n = std::min(block_rows, s.S - first), columns = s.causal ? first + n : s.S;
        const ConstSlice<T> q(rows + first * width + at.q, n, d, stride);
        const ConstSlice<T> k(rows + at.k, columns, d, stride), v(rows + at.v, columns, d, stride);
        const Index out_at = (b * s.S + first) * out_width + head * d;
        const ConstSlice<T> out(o + out_at, n, d, out_stride), out_gradient(d_o + out_at, n, d, out_stride);
        Matrix<T> p(memory, n, columns), dp(memory + block * s.S, n, columns);
        masked_scores(p, q, k, scale, s.causal, first);
        dp.noalias() = out_gradient * v.transpose();
        const T* log_sums = lse + (b * s.heads + head) * s.S + first;
        for (Index r = 0; r < n; ++r) {
          Array<T> row(p.data() + r * columns, columns), gradient(dp.data() + r * columns, columns);
          const T dot = out.row(r).dot(out_gradient.row(r));
          row = (row - log_sums[r]).exp();
          gradient = row * (gradient - dot) * scale;
        }
        Slice<T>(row_gradients + first * width + at.q, n, d, stride).noalias() = dp * k;
        Slice<T>(row_gradients + at.k, columns, d, stride).noalias() += dp.transpose() * q;
        Slice<T>(row_gradients + at.v, columns, d, stride).noalias() += p.transpose() * out_gradient;
      }
    }
  }
}

// Pairs (i, i + d/2) of every q and k head turn by position · theta^(−2i/d): RoFormer's rotation (Su et al. 2021) in
// the half-split order of Llama's published weights.
template <class T>
void rotary(T* y, const T* x, const AttentionShape& s, float theta, bool inverse, Workspace<T>& workspace,
            const Index* positions) {
  const Index half = s.head_dim / 2, g = s.group(), width = s.qkv_width();
  const Index rows = positions == nullptr ? s.S : 1 + *std::max_element(positions, positions + s.S);
  const T* table = workspace.rotary_table(rows, s.head_dim, theta);
  const T sign = inverse ? T(-1) : T(1);
  for (Index row = 0; row < s.B * s.S; ++row) {
    const Index position = positions == nullptr ? row % s.S : positions[row % s.S];
    const ConstArray<T> cosine(table + position * s.head_dim, half), sine(cosine.data() + half, half);
    for (Index part = 0; part < s.kv_heads * (g + 2); ++part) {
      const Index at = row * width + part * s.head_dim;
      if (part % (g + 2) == g + 1) {
        std::copy_n(x + at, s.head_dim, y + at);
        continue;
      }
      const ConstArray<T> first(x + at, half), second(x + at + half, half);
      const Eigen::Array<T, Eigen::Dynamic, 1, 0, 512, 1> turned = first * cosine - second * sine * sign;
      Array<T>(y + at + half, half) = second * cosine + first * sine * sign;
      Array<T>(y + at, half) = turned;
    }
  }
}

template <class T>
T* Workspace<T>::scratch(std::int64_t elements) {
  constexpr std::size_t line = 64;
  const std::size_t needed = static_cast<std::size_t>(elements) + line / sizeof(T);
  if (scratch_.size() < needed) scratch_.resize(needed);
  void* first = scratch_.data();
  std::size_t room = scratch_.size() * sizeof(T);
  return static_cast<T*>(std::align(line, static_cast<std::size_t>(elements) * sizeof(T), first, room));
}

template <class T>
const T* Workspace<T>::rotary_table(std::int64_t S, std::int64_t d, float theta) {
  if (S <= rotary_S_ && d == rotary_d_ && theta == rotary_theta_) return rotary_.data();
  rotary_.resize(static_cast<std::size_t>(S * d));
  for (Index s = 0; s < S; ++s) {
    for (Index i = 0; i < d / 2; ++i) {
      const double angle = static_cast<double>(s) *
                           std::pow(static_cast<double>(theta), -2.0 * static_cast<double>(i) / static_cast<double>(d));
      rotary_[static_cast<std::size_t>(s * d + i)] = static_cast<T>(std::cos(angle));
      rotary_[static_cast<std::size_t>(s * d + d / 2 + i)] = static_cast<T>(std::sin(angle));
    }
  }
  rotary_S_ = S;
  rotary_d_ = d;
  rotary_theta_ = theta;
  return rotary_.data();
}

#define INSTANTIATE(T)                                                                                                \
  template void attention_forward(T*, T*, const T*, const AttentionShape&, Workspace<T>&);                            \
  template void attention_backward(T*, const T*, const T*, const T*, const T*, const AttentionShape&, Workspace<T>&); \
  template void rotary(T*, const T*, const AttentionShape&, float, bool, Workspace<T>&, const Index*);                \
  template class Workspace<T>;
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace trainwire::cpu
