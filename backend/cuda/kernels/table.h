// From a Launch to the body that runs it: the one place that unpacks operands, for host and device alike. A Grid runs
// bodies: elements(body, count), rows(body, rows, width) a team a row, blocks(body, count, shared bytes).
// Split in three so that three files can be compiled at once; each returns false for kernels that are not its own.
#pragma once
#include "backend/cuda/kernels/types.h"

namespace trainwire::cuda {

template <class T>
struct TypeTag {
  using type = T;
};

// Calls visit(TypeTag<T>) for the storage type; fp64 only on grids that have it.
template <class Grid, class Visit>
void with_type(Type type, const Visit& visit) {
  if (type == Type::fp32) return visit(TypeTag<float>{});
  if (type == Type::bf16) return visit(TypeTag<bf16>{});
  if (type == Type::fp16) return visit(TypeTag<fp16>{});
  if constexpr (Grid::has_fp64) {
    if (type == Type::fp64) return visit(TypeTag<double>{});
  }
}

// Calls visit(TypeTag<T>, TypeTag<G>): fp64 goes with fp64 only.
template <class Grid, class Visit>
void with_types(Type type, Type gradient, const Visit& visit) {
  with_type<Grid>(type, [&](auto t) {
    if constexpr (std::is_same_v<typename decltype(t)::type, double>) {
      visit(t, t);
    } else {
      with_type<Grid>(gradient, [&](auto g) {
        if constexpr (!std::is_same_v<typename decltype(g)::type, double>) visit(t, g);
      });
    }
  });
}

template <class P>
P* at(const Launch& l, int i) {
  return static_cast<P*>(l.p[static_cast<std::size_t>(i)]);
}
inline const std::int32_t* integers(const Launch& l, int i) { return at<const std::int32_t>(l, i); }

}  // namespace trainwire::cuda
