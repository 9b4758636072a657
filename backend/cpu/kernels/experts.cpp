// Mixtures of experts on routed rows: parts, one a member of the expert axis, of each the number of rows of every local
// expert, then the rows by expert and in each by token. The order follows from the choices alone.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "backend/cpu/kernels/experts.h"
#include "backend/cpu/kernels/matrix.h"

namespace trainwire::cpu {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// Where the copy of token t for its j-th expert lies: its offset from the start of the rows' memory.
std::vector<Index> places(const std::int32_t* chosen, Index tokens, Index k, const RoutedShape& s) {
  std::vector<Index> next(at(s.parts * s.experts), 0), place(at(tokens * k));
  for (Index i = 0; i < tokens * k; ++i) ++next[at(chosen[i])];
  for (Index part = 0; part < s.parts; ++part) {
    Index row = 0;
    for (Index e = 0; e < s.experts; ++e) row += std::exchange(next[at(part * s.experts + e)], row);
  }
  for (Index i = 0; i < tokens * k; ++i)
    place[at(i)] = chosen[i] / s.experts * s.stride() + s.experts + next[at(chosen[i])]++ * s.width;
  return place;
}

template <class T>
void count_rows(T* rows, const std::int32_t* chosen, Index choices, const RoutedShape& s) {
  for (Index part = 0; part < s.parts; ++part) std::fill_n(rows + part * s.stride(), s.experts, T(0));
  for (Index i = 0; i < choices; ++i) rows[chosen[i] / s.experts * s.stride() + chosen[i] % s.experts] += T(1);
}

// Calls visit(expert, offset of its rows in x, offset in y, rows) for all that are in use; copies the counts to y.
template <class T, class Visit>
void for_each_expert(T* y, const RoutedShape& ys, const T* x, const RoutedShape& xs, const Visit& visit) {
  for (Index part = 0; part < xs.parts; ++part) {
    const T* counts = x + part * xs.stride();
    if (y != nullptr) std::copy_n(counts, xs.experts, y + part * ys.stride());
    Index row = 0;
    for (Index e = 0; e < xs.experts; ++e) {
      const Index rows = static_cast<Index>(counts[e]);
      const auto offset = [&](const RoutedShape& s) { return part * s.stride() + s.experts + row * s.width; };
      if (rows > 0) visit(e, offset(xs), offset(ys), rows);
      row += rows;
    }
  }
}

}  // namespace

template <class T>
void router_forward(T* weights, std::int32_t* chosen, const T* logits, const T* keys, Index tokens, Index experts,
                    Index k) {
  std::vector<std::int32_t> order(at(experts));
  for (Index t = 0; t < tokens; ++t) {
    const T* row = logits + t * experts;
    const T* key = keys == nullptr ? row : keys + t * experts;
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](std::int32_t a, std::int32_t b) { return key[a] > key[b] || (key[a] == key[b] && a < b); });
    T max = row[order[0]], sum = 0;
    for (Index j = 0; j < k; ++j) max = std::max(max, row[order[at(j)]]);
    for (Index j = 0; j < k; ++j) {
      chosen[t * k + j] = order[at(j)];
      sum += weights[t * k + j] = std::exp(row[order[at(j)]] - max);
    }
    for (Index j = 0; j < k; ++j) weights[t * k + j] /= sum;
  }
}

template <class T>
void router_backward(T* dlogits, const T* dweights, const T* weights, const std::int32_t* chosen, Index tokens,
                     Index experts, Index k) {
  std::fill_n(dlogits, tokens * experts, T(0));
  for (Index t = 0; t < tokens; ++t) {
    const T *w = weights + t * k, *dw = dweights + t * k;
    T dot = 0;
    for (Index j = 0; j < k; ++j) dot += w[j] * dw[j];
    for (Index j = 0; j < k; ++j) dlogits[t * experts + chosen[t * k + j]] = w[j] * (dw[j] - dot);
  }
}

template <class T>
void dispatch_forward(T* rows, const T* x, const std::int32_t* chosen, Index tokens, Index k, const RoutedShape& s) {
  const std::vector<Index> place = places(chosen, tokens, k, s);
  count_rows(rows, chosen, tokens * k, s);
  for (Index i = 0; i < tokens * k; ++i) std::copy_n(x + i / k * s.width, s.width, rows + place[at(i)]);
}

template <class T>
void dispatch_backward(T* dx, const T* drows, const std::int32_t* chosen, Index tokens, Index k, const RoutedShape& s) {
  const std::vector<Index> place = places(chosen, tokens, k, s);
  std::fill_n(dx, tokens * s.width, T(0));
  for (Index i = 0; i < tokens * k; ++i)
    Array<T>(dx + i / k * s.width, s.width) += ConstArray<T>(drows + place[at(i)], s.width);
}

template <class T>
void combine_forward(T* y, const T* rows, const T* weights, const std::int32_t* chosen, Index tokens, Index k,
                     const RoutedShape& s) {
  const std::vector<Index> place = places(chosen, tokens, k, s);
  std::fill_n(y, tokens * s.width, T(0));
  for (Index i = 0; i < tokens * k; ++i)
    Array<T>(y + i / k * s.width, s.width) += weights[i] * ConstArray<T>(rows + place[at(i)], s.width);
}

template <class T>
void combine_backward(T* drows, T* dweights, const T* dy, const T* rows, const T* weights, const std::int32_t* chosen,
                      Index tokens, Index k, const RoutedShape& s) {
  const std::vector<Index> place = places(chosen, tokens, k, s);
  count_rows(drows, chosen, tokens * k, s);
  for (Index i = 0; i < tokens * k; ++i) {
    const ConstArray<T> gradient(dy + i / k * s.width, s.width);
    Array<T>(drows + place[at(i)], s.width) = weights[i] * gradient;
    dweights[i] = (gradient * ConstArray<T>(rows + place[at(i)], s.width)).sum();
  }
}

template <class T>
void expert_linear_forward(T* y, const T* x, const T* w, const RoutedShape& ys, const RoutedShape& xs) {
  const Index K = xs.width, N = ys.width;
  for_each_expert(y, ys, x, xs, [&](Index e, Index from, Index to, Index rows) {
    linear_forward<T>(y + to, x + from, w + e * K * N, nullptr, rows, N, K, false);
  });
}

template <class T>
void expert_linear_input_gradient(T* dx, const T* dy, const T* w, const RoutedShape& xs, const RoutedShape& ys) {
  const Index K = xs.width, N = ys.width;
  for_each_expert(dx, xs, dy, ys, [&](Index e, Index from, Index to, Index rows) {
    linear_input_gradient<T>(dx + to, dy + from, w + e * K * N, rows, N, K, false);
  });
}

template <class T>
void expert_linear_weight_gradient(T* dw, const T* dy, const T* x, const RoutedShape& ys, const RoutedShape& xs,
                                   bool accumulate) {
  const Index K = xs.width, N = ys.width;
  if (!accumulate) std::fill_n(dw, xs.experts * K * N, T(0));
  for_each_expert(static_cast<T*>(nullptr), ys, x, xs, [&](Index e, Index at_x, Index at_y, Index rows) {
    linear_weight_gradient<T>(dw + e * K * N, nullptr, dy + at_y, x + at_x, rows, N, K, false, true);
  });
}

template <class T>
void routed_swiglu_forward(T* y, const T* x, const RoutedShape& ys, const RoutedShape& xs) {
  for_each_expert(y, ys, x, xs, [&](Index, Index from, Index to, Index rows) {
    swiglu_forward<T>(y + to, x + from, rows, ys.width);
  });
}

template <class T>
void routed_swiglu_backward(T* dx, const T* dy, const T* x, const RoutedShape& xs, const RoutedShape& ys) {
  for_each_expert(dx, xs, dy, ys, [&](Index, Index from, Index to, Index rows) {
    swiglu_backward<T>(dx + to, dy + from, x + to, rows, ys.width);
  });
}

#define INSTANTIATE(T)                                                                                               \
  template void router_forward(T*, std::int32_t*, const T*, const T*, Index, Index, Index);                          \
  template void router_backward(T*, const T*, const T*, const std::int32_t*, Index, Index, Index);                   \
  template void dispatch_forward(T*, const T*, const std::int32_t*, Index, Index, const RoutedShape&);               \
  template void dispatch_backward(T*, const T*, const std::int32_t*, Index, Index, const RoutedShape&);              \
  template void combine_forward(T*, const T*, const T*, const std::int32_t*, Index, Index, const RoutedShape&);      \
  template void combine_backward(T*, T*, const T*, const T*, const T*, const std::int32_t*, Index, Index,            \
                                 const RoutedShape&);                                                                \
  template void expert_linear_forward(T*, const T*, const T*, const RoutedShape&, const RoutedShape&);               \
  template void expert_linear_input_gradient(T*, const T*, const T*, const RoutedShape&, const RoutedShape&);        \
  template void expert_linear_weight_gradient(T*, const T*, const T*, const RoutedShape&, const RoutedShape&, bool); \
  template void routed_swiglu_forward(T*, const T*, const RoutedShape&, const RoutedShape&);                         \
  template void routed_swiglu_backward(T*, const T*, const T*, const RoutedShape&, const RoutedShape&);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace trainwire::cpu
