// Kernels that work row by row, down the columns, or on images (table.h).
#pragma once
#include "backend/cuda/kernels/columns.h"
#include "backend/cuda/kernels/images.h"
#include "backend/cuda/kernels/rows.h"
#include "backend/cuda/kernels/table.h"

namespace trainwire::cuda {

template <class T, class Grid>
bool run_row(Grid& grid, const Launch& l) {
  using A = Real<T>;
  const auto& n = l.n;
  const auto run = [&](const auto& body) { grid.rows(body, n[0], n[1] / Pack<T>::size + 1); };
  switch (l.kernel) {
    case Kernel::layer_norm:
      return run(LayerNorm<T>{at<T>(l, 0), at<A>(l, 1), at<T>(l, 2), at<T>(l, 3), at<T>(l, 4), n[0], n[1], l.x[0]}),
             true;
    case Kernel::layer_norm_backward:
      return run(LayerNormBackward<T>{at<T>(l, 0), at<T>(l, 1), at<T>(l, 2), at<T>(l, 3), at<A>(l, 4), n[0], n[1]}),
             true;
    case Kernel::rms_norm:
      return run(RmsNorm<T>{at<T>(l, 0), at<A>(l, 1), at<T>(l, 2), at<T>(l, 3), n[0], n[1], l.x[0]}), true;
    case Kernel::rms_norm_backward:
      return run(RmsNormBackward<T>{at<T>(l, 0), at<T>(l, 1), at<T>(l, 2), at<T>(l, 3), at<A>(l, 4), n[0], n[1]}), true;
    case Kernel::logits_max:
      return run(LogitsMax<T>{at<A>(l, 0), at<T>(l, 1), n[0], n[1]}), true;
    case Kernel::logits_sum:
      return run(LogitsSum<T>{at<A>(l, 0), at<T>(l, 1), at<A>(l, 2), integers(l, 3), n[0], n[1], n[2]}), true;
    case Kernel::cross_entropy:
      return grid.rows(CrossEntropy<T>{at<A>(l, 0), at<A>(l, 1), at<A>(l, 2), n[0], l.x[0]}, 1, n[0]), true;
    case Kernel::cross_entropy_backward:
      return run(CrossEntropyBackward<T>{at<T>(l, 0), at<T>(l, 1), at<A>(l, 2), at<A>(l, 3), integers(l, 4), n[0], n[1],
                                         n[2], l.x[0]}),
             true;
    default:
      return false;
  }
}

template <class T, class Grid>
bool run_image(Grid& grid, const Launch& l) {
  using A = Real<T>;
  const auto& n = l.n;
  const Window window{n[0], n[1], n[2], n[3], n[4], n[5], n[6]};
  const auto run = [&](const auto& body) { grid.elements(body, body.count()); };
  switch (l.kernel) {
    case Kernel::column_sums:
      return run(ColumnSums<T>{at<A>(l, 0), at<T>(l, 1), n[0], n[1], n[2]}), true;
    case Kernel::layer_norm_sums:
      return run(LayerNormSums<T>{at<A>(l, 0), at<T>(l, 1), at<T>(l, 2), at<A>(l, 3), n[0], n[1], n[2]}), true;
    case Kernel::rms_norm_sums:
      return run(RmsNormSums<T>{at<A>(l, 0), at<T>(l, 1), at<T>(l, 2), at<A>(l, 3), n[0], n[1], n[2]}), true;
    case Kernel::unfold:
      return run(Unfold<T>{at<T>(l, 0), at<T>(l, 1), window}), true;
    case Kernel::fold:
      return run(Fold<T>{at<T>(l, 0), at<T>(l, 1), window}), true;
    case Kernel::batch_norm:
      return grid.rows(BatchNorm<T>{at<T>(l, 0), at<A>(l, 1), at<T>(l, 2), at<T>(l, 3), at<T>(l, 4), n[0], n[1], n[2],
                                    l.x[0]},
                       n[1], n[0] * n[2]),
             true;
    case Kernel::max_pool:
      return run(MaxPool<T>{at<T>(l, 0), at<std::int32_t>(l, 1), at<T>(l, 2), window}), true;
    case Kernel::max_pool_backward:
      return run(MaxPoolBackward<T>{at<T>(l, 0), at<T>(l, 1), integers(l, 2), window}), true;
    case Kernel::mean_pool:
      return grid.rows(MeanPool<T>{at<T>(l, 0), at<T>(l, 1), n[0], n[1]}, n[0], n[1]), true;
    case Kernel::mean_pool_backward:
      return run(MeanPoolBackward<T>{at<T>(l, 0), at<T>(l, 1), n[0], n[1]}), true;
    default:
      return false;
  }
}

template <class Grid>
bool run_rows(Grid& grid, const Launch& l) {
  bool ran = false;
  with_type<Grid>(l.type, [&](auto t) {
    using T = typename decltype(t)::type;
    ran = run_row<T>(grid, l) || run_image<T>(grid, l);
  });
  if (ran) return true;
  with_types<Grid>(l.type, l.gradient, [&](auto t, auto g) {
    using T = typename decltype(t)::type;
    using G = typename decltype(g)::type;
    using A = Real<T>;
    const auto& n = l.n;
    if (l.kernel == Kernel::column_finish) {
      const ColumnFinish<A, G> body{at<G>(l, 0), at<A>(l, 1), n[0], n[1], n[2], n[3], l.accumulate};
      grid.elements(body, body.count());
      ran = true;
    } else if (l.kernel == Kernel::batch_norm_backward) {
      grid.rows(BatchNormBackward<T, G>{at<T>(l, 0), at<G>(l, 1), at<G>(l, 2), at<T>(l, 3), at<T>(l, 4), at<T>(l, 5),
                                        at<A>(l, 6), n[0], n[1], n[2], l.accumulate},
                n[1], n[0] * n[2]);
      ran = true;
    }
  });
  return ran;
}

}  // namespace trainwire::cuda
