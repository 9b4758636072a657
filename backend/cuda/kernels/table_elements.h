// Kernels that work element by element (table.h).
#pragma once
#include "backend/cuda/kernels/elements.h"
#include "backend/cuda/kernels/table.h"
#include "backend/cuda/kernels/update.h"

namespace trainwire::cuda {

template <class T, class Grid>
bool run_activation(Grid& grid, const Launch& l) {
  using A = Real<T>;
  const auto& n = l.n;
  const auto run = [&](const auto& body) { grid.elements(body, body.count()); };
  T* y = at<T>(l, 0);
  const T *x = at<T>(l, 1), *z = at<T>(l, 2);
  switch (l.kernel) {
    case Kernel::add:
      return run(Map<T, Add<A>, 2>{y, x, z, n[0], {}}), true;
    case Kernel::gelu:
      return run(Map<T, Gelu<A>, 1>{y, x, nullptr, n[0], {}}), true;
    case Kernel::gelu_backward:
      return run(Map<T, GeluBackward<A>, 2>{y, x, z, n[0], {}}), true;
    case Kernel::relu:
      return run(Map<T, Relu<A>, 1>{y, x, nullptr, n[0], {}}), true;
    case Kernel::relu_backward:
      return run(Map<T, ReluBackward<A>, 2>{y, x, z, n[0], {}}), true;
    case Kernel::swiglu:
      return run(Swiglu<T>{y, x, n[0], n[1]}), true;
    case Kernel::swiglu_backward:
      return run(SwigluBackward<T>{y, x, z, n[0], n[1]}), true;
    case Kernel::bias:
      return run(AddRepeating<T>{y, x, z, n[0] * n[1], n[1]}), true;
    case Kernel::position:
      return run(AddRepeating<T>{y, x, z, n[0] * n[1] * n[2], n[1] * n[2]}), true;
    case Kernel::embedding:
      return run(Embedding<T>{y, integers(l, 1), z, n[0], n[1], n[2], n[3]}), true;
    case Kernel::rotary:
      return run(Rotary<T>{y, x, at<A>(l, 2), n[0], n[1], n[2], n[3], n[4], l.x[0]}), true;
    case Kernel::rotary_table:
      return run(RotaryTable<A>{at<A>(l, 0), n[0], n[1], l.x[0]}), true;
    case Kernel::accumulate_loss:
      return run(Map<A, Add<A>, 2>{at<A>(l, 0), at<A>(l, 0), at<A>(l, 1), n[0], {}}), true;
    default:
      return false;
  }
}

template <class T, class G, class Grid>
bool run_gradient(Grid& grid, const Launch& l) {
  using A = Real<T>;
  const auto& n = l.n;
  const auto& x = l.x;
  const auto run = [&](const auto& body) { grid.elements(body, body.count()); };
  const Weight<T> weight{at<T>(l, 0), at<A>(l, 1)};
  switch (l.kernel) {
    case Kernel::position_gradient:
      return run(PositionGradient<T, G>{at<G>(l, 0), at<T>(l, 1), n[0], n[1], n[2], n[3], l.accumulate}), true;
    case Kernel::embedding_gradient:
      return run(EmbeddingGradient<T, G>{at<G>(l, 0), at<T>(l, 1), integers(l, 2), n[0], n[1], n[2], n[3]}), true;
    case Kernel::convert:
      return run(Convert<T, G>{at<G>(l, 0), at<T>(l, 1), n[0]}), true;
    case Kernel::clear:
      return run(Clear<G>{at<G>(l, 0), n[0]}), true;
    case Kernel::sgd:
      return run(Sgd<T, G>{weight, at<G>(l, 2), n[0], x[0], x[1], x[2]}), true;
    case Kernel::momentum:
      return run(Momentum<T, G>{weight, at<A>(l, 2), at<G>(l, 3), n[0], x[0], x[1], x[2], x[3]}), true;
    case Kernel::adam:
      return run(Adam<T, G>{weight, at<A>(l, 2), at<A>(l, 3), at<G>(l, 4), n[0], x[0], x[1], x[2], x[3], x[4], x[5],
                            x[6], x[7]}),
             true;
    default:
      return false;
  }
}

template <class Grid>
bool run_elements(Grid& grid, const Launch& l) {
  bool ran = false;
  with_type<Grid>(l.type, [&](auto t) { ran = run_activation<typename decltype(t)::type>(grid, l); });
  if (ran) return true;
  with_types<Grid>(l.type, l.gradient, [&](auto t, auto g) {
    ran = run_gradient<typename decltype(t)::type, typename decltype(g)::type>(grid, l);
  });
  return ran;
}

}  // namespace trainwire::cuda
