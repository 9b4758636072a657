// Token and position embeddings.
#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/matrix.h"

namespace trainwire::cpu {

template <class T>
void embedding_forward(T* y, const std::int32_t* tokens, const T* table, Index rows, Index V, Index H, Index offset) {
  for (Index r = 0; r < rows; ++r) {
    const Index row = tokens[r] - offset;
    if (row >= 0 && row < V) {
      std::copy_n(table + row * H, H, y + r * H);
    } else {
      std::fill_n(y + r * H, H, T(0));
    }
  }
}

template <class T>
void embedding_gradient(T* dtable, const T* dy, const std::int32_t* tokens, Index rows, Index V, Index H, Index offset,
                        bool accumulate) {
  if (!accumulate) std::fill_n(dtable, V * H, T(0));
  for (Index r = 0; r < rows; ++r) {
    const Index row = tokens[r] - offset;
    if (row >= 0 && row < V) Array<T>(dtable + row * H, H) += ConstArray<T>(dy + r * H, H);
  }
}

template <class T>
void position_forward(T* y, const T* x, const T* table, Index B, Index S, Index H, const Index* positions) {
  for (Index b = 0; b < B; ++b)
    for (Index s = 0; s < S; ++s) {
      const Index at = (b * S + s) * H, row = positions == nullptr ? s : positions[s];
      Array<T>(y + at, H) = ConstArray<T>(x + at, H) + ConstArray<T>(table + row * H, H);
    }
}

template <class T>
void position_gradient(T* dtable, const T* dy, Index B, Index S, Index H, Index S_max, bool accumulate,
                       const Index* positions) {
  if (!accumulate) std::fill_n(dtable, S_max * H, T(0));
  for (Index b = 0; b < B; ++b)
    for (Index s = 0; s < S; ++s)
      Array<T>(dtable + (positions == nullptr ? s : positions[s]) * H, H) += ConstArray<T>(dy + (b * S + s) * H, H);
}

#define INSTANTIATE(T)                                                                                   \
  template void embedding_forward(T*, const std::int32_t*, const T*, Index, Index, Index, Index);        \
  template void embedding_gradient(T*, const T*, const std::int32_t*, Index, Index, Index, Index, bool); \
  template void position_forward(T*, const T*, const T*, Index, Index, Index, const Index*);             \
  template void position_gradient(T*, const T*, Index, Index, Index, Index, bool, const Index*);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace trainwire::cpu
