// Attention (table.h).
#pragma once
#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/kernels/table.h"

namespace trainwire::cuda {

template <class T, class Grid>
bool run_attention_of(Grid& grid, const Launch& l) {
  using A = Real<T>;
  const auto& n = l.n;
  const AttentionSizes s{n[0], n[1], n[2], n[3], n[4], n[5] != 0, n[6], n[7]};
  const auto run = [&](const auto& body) {
    grid.blocks(body, body.blocks(), attention_bytes(l.kernel, s, sizeof(T), sizeof(A)));
  };
  switch (l.kernel) {
    case Kernel::attention:
      return run(Attention<T>{at<T>(l, 0), at<A>(l, 1), at<T>(l, 2), s}), true;
    case Kernel::attention_dot: {
      const AttentionDot<T> body{at<A>(l, 0), at<T>(l, 1), at<T>(l, 2), n[0], n[1], n[2], n[3]};
      return grid.elements(body, body.count()), true;
    }
    case Kernel::attention_backward_q:
      return run(AttentionBackwardQ<T>{at<T>(l, 0), at<T>(l, 1), at<T>(l, 2), at<A>(l, 3), at<A>(l, 4), s}), true;
    case Kernel::attention_backward_kv:
      return run(AttentionBackwardKv<T>{at<T>(l, 0), at<T>(l, 1), at<T>(l, 2), at<A>(l, 3), at<A>(l, 4), s}), true;
    default:
      return false;
  }
}

template <class Grid>
bool run_attention(Grid& grid, const Launch& l) {
  bool ran = false;
  with_type<Grid>(l.type, [&](auto t) { ran = run_attention_of<typename decltype(t)::type>(grid, l); });
  return ran;
}

}  // namespace trainwire::cuda
