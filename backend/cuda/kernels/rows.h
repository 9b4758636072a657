// Row by row: a team of threads shares a row. A team has rank(), size(), sum(x) and maximum(x) over its threads (every
// thread gets the result). On the host a team is one thread, or several that a test runs at once.
#pragma once
#include "backend/cuda/kernels/types.h"

namespace trainwire::cuda {

// Calls visit(first element, elements left) for this thread's packs of a row of H elements.
template <class T, class Team, class Visit>
TRAINWIRE_BOTH void for_each_pack(Team& team, Index H, const Visit& visit) {
  for (Index at = team.rank() * Pack<T>::size; at < H; at += team.size() * Pack<T>::size) visit(at, H - at);
}

// Elements of a pack that exist.
template <class T>
TRAINWIRE_BOTH int filled(Index left) {
  return left < Pack<T>::size ? static_cast<int>(left) : Pack<T>::size;
}

// LayerNorm (Ba et al. 2016). statistics (rows,2): mean and 1/sigma; the variance is over H.
template <class T>
struct LayerNorm {
  using A = Real<T>;
  T* y;
  A* statistics;
  const T *x, *gain, *bias;
  Index rows, H;
  double epsilon;
  template <class Team>
  TRAINWIRE_BOTH void operator()(Team& team, Index row) const {
    const T* in = x + row * H;
    A sum = 0;
    for_each_pack<T>(team, H, [&](Index at, Index left) {
      Pack<T> v;
      v.load(in + at, left);
      for (int k = 0; k < filled<T>(left); ++k) sum += v.value[k];
    });
    const A mean = team.sum(sum) / static_cast<A>(H);
    A squares = 0;
    for_each_pack<T>(team, H, [&](Index at, Index left) {
      Pack<T> v;
      v.load(in + at, left);
      for (int k = 0; k < filled<T>(left); ++k) squares += (v.value[k] - mean) * (v.value[k] - mean);
    });
    const A inverse = A(1) / std::sqrt(team.sum(squares) / static_cast<A>(H) + static_cast<A>(epsilon));
    for_each_pack<T>(team, H, [&](Index at, Index left) {
      Pack<T> v, g, b;
      v.load(in + at, left);
      g.load(gain + at, left);
      b.load(bias + at, left);
      for (int k = 0; k < filled<T>(left); ++k) v.value[k] = (v.value[k] - mean) * inverse * g.value[k] + b.value[k];
      v.store(y + row * H + at, left);
    });
    if (team.rank() == 0) {
      statistics[2 * row] = mean;
      statistics[2 * row + 1] = inverse;
    }
  }
};

template <class T>
struct LayerNormBackward {
  using A = Real<T>;
  T* dx;
  const T *dy, *x, *gain;
  const A* statistics;
  Index rows, H;
  template <class Team>
  TRAINWIRE_BOTH void operator()(Team& team, Index row) const {
    const A mean = statistics[2 * row], inverse = statistics[2 * row + 1];
    A gradients = 0, products = 0;
    for_each_pack<T>(team, H, [&](Index at, Index left) {
      Pack<T> d, v, g;
      d.load(dy + row * H + at, left);
      v.load(x + row * H + at, left);
      g.load(gain + at, left);
      for (int k = 0; k < filled<T>(left); ++k) {
        const A scaled = d.value[k] * g.value[k];
        gradients += scaled;
        products += scaled * (v.value[k] - mean) * inverse;
      }
    });
    const A mean_gradient = team.sum(gradients) / static_cast<A>(H);
    const A mean_product = team.sum(products) / static_cast<A>(H);
    for_each_pack<T>(team, H, [&](Index at, Index left) {
      Pack<T> d, v, g;
      d.load(dy + row * H + at, left);
      v.load(x + row * H + at, left);
      g.load(gain + at, left);
      for (int k = 0; k < filled<T>(left); ++k)
        v.value[k] = inverse * (d.value[k] * g.value[k] - mean_gradient - (v.value[k] - mean) * inverse * mean_product);
      v.store(dx + row * H + at, left);
    });
  }
};

// RMSNorm (Zhang & Sennrich 2019). statistics (rows): 1/rms
template <class T>
struct RmsNorm {
  using A = Real<T>;
  T* y;
  A* statistics;
  const T *x, *gain;
  Index rows, H;
  double epsilon;
  template <class Team>
  TRAINWIRE_BOTH void operator()(Team& team, Index row) const {
    A squares = 0;
    for_each_pack<T>(team, H, [&](Index at, Index left) {
      Pack<T> v;
      v.load(x + row * H + at, left);
      for (int k = 0; k < filled<T>(left); ++k) squares += v.value[k] * v.value[k];
    });
    const A inverse = A(1) / std::sqrt(team.sum(squares) / static_cast<A>(H) + static_cast<A>(epsilon));
    for_each_pack<T>(team, H, [&](Index at, Index left) {
      Pack<T> v, g;
      v.load(x + row * H + at, left);
      g.load(gain + at, left);
      for (int k = 0; k < filled<T>(left); ++k) v.value[k] = v.value[k] * inverse * g.value[k];
      v.store(y + row * H + at, left);
    });
    if (team.rank() == 0) statistics[row] = inverse;
  }
};

template <class T>
struct RmsNormBackward {
  using A = Real<T>;
  T* dx;
  const T *dy, *x, *gain;
  const A* statistics;
  Index rows, H;
  template <class Team>
  TRAINWIRE_BOTH void operator()(Team& team, Index row) const {
    const A inverse = statistics[row];
    A products = 0;
    for_each_pack<T>(team, H, [&](Index at, Index left) {
      Pack<T> d, v, g;
      d.load(dy + row * H + at, left);
      v.load(x + row * H + at, left);
      g.load(gain + at, left);
      for (int k = 0; k < filled<T>(left); ++k) products += d.value[k] * g.value[k] * v.value[k];
    });
    const A mean_product = team.sum(products) / static_cast<A>(H) * inverse * inverse;
    for_each_pack<T>(team, H, [&](Index at, Index left) {
      Pack<T> d, v, g;
      d.load(dy + row * H + at, left);
      v.load(x + row * H + at, left);
      g.load(gain + at, left);
      for (int k = 0; k < filled<T>(left); ++k)
        v.value[k] = inverse * (d.value[k] * g.value[k] - v.value[k] * mean_product);
      v.store(dx + row * H + at, left);
    });
  }
};

// Softmax cross-entropy in three parts, so that ranks may share the vocabulary (Megatron-LM's parallel loss).
template <class T>
struct LogitsMax {
  using A = Real<T>;
  A* max;
  const T* logits;
  Index rows, V;
  template <class Team>
  TRAINWIRE_BOTH void operator()(Team& team, Index row) const {
    A best = lowest<A>();
    for_each_pack<T>(team, V, [&](Index at, Index left) {
      Pack<T> v;
      v.load(logits + row * V + at, left);
      for (int k = 0; k < filled<T>(left); ++k) best = larger(best, v.value[k]);
    });
    best = team.maximum(best);
    if (team.rank() == 0) max[row] = best;
  }
};

// sums (rows,2): sum of exp(logit − max), and the target's logit or 0
template <class T>
struct LogitsSum {
  using A = Real<T>;
  A* sums;
  const T* logits;
  const A* max;
  const std::int32_t* targets;
  Index rows, V, offset;
  template <class Team>
  TRAINWIRE_BOTH void operator()(Team& team, Index row) const {
    A sum = 0;
    for_each_pack<T>(team, V, [&](Index at, Index left) {
      Pack<T> v;
      v.load(logits + row * V + at, left);
      for (int k = 0; k < filled<T>(left); ++k) sum += exponential(v.value[k] - max[row]);
    });
    sum = team.sum(sum);
    if (team.rank() != 0) return;
    const Index target = targets[row] - offset;
    sums[2 * row] = sum;
    sums[2 * row + 1] = target >= 0 && target < V ? load(logits, row * V + target) : A(0);
  }
};

// loss (1): sum over the rows of log-sum-exp − target's logit, times 1/tokens. One team for all rows; in fp64.
template <class T>
struct CrossEntropy {
  using A = Real<T>;
  A* loss;
  const A *max, *sums;
  Index rows;
  double factor;
  template <class Team>
  TRAINWIRE_BOTH void operator()(Team& team, Index) const {
    double sum = 0;
    for (Index r = team.rank(); r < rows; r += team.size())
      sum += static_cast<double>(std::log(sums[2 * r]) + max[r]) - static_cast<double>(sums[2 * r + 1]);
    sum = team.sum(sum);
    if (team.rank() == 0) loss[0] = static_cast<A>(sum * factor);
  }
};

template <class T>
struct CrossEntropyBackward {
  using A = Real<T>;
  T* dlogits;
  const T* logits;
  const A *max, *sums;
  const std::int32_t* targets;
  Index rows, V, offset;
  double factor;
  template <class Team>
  TRAINWIRE_BOTH void operator()(Team& team, Index row) const {
    const Index target = targets[row] - offset;
    const A scale = static_cast<A>(factor), inverse = scale / sums[2 * row];
    for_each_pack<T>(team, V, [&](Index at, Index left) {
      Pack<T> v;
      v.load(logits + row * V + at, left);
      for (int k = 0; k < filled<T>(left); ++k) {
        v.value[k] = exponential(v.value[k] - max[row]) * inverse;
        if (at + k == target) v.value[k] -= scale;
      }
      v.store(dlogits + row * V + at, left);
    });
  }
};

}  // namespace trainwire::cuda
