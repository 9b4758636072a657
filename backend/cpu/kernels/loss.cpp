// Softmax cross-entropy in three parts, so that ranks may share the vocabulary (Megatron-LM's parallel loss).
#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/matrix.h"

namespace trainwire::cpu {

template <class T>
void logits_max(T* max, const T* logits, Index rows, Index V) {
  for (Index r = 0; r < rows; ++r) max[r] = ConstArray<T>(logits + r * V, V).maxCoeff();
}

template <class T>
void logits_sum(T* sums, const T* logits, const T* max, const std::int32_t* targets, Index rows, Index V,
                Index offset) {
  for (Index r = 0; r < rows; ++r) {
    const Index target = targets[r] - offset;
    sums[2 * r] = (ConstArray<T>(logits + r * V, V) - max[r]).exp().sum();
    sums[2 * r + 1] = target >= 0 && target < V ? logits[r * V + target] : T(0);
  }
}

template <class T>
void cross_entropy_forward(T* loss, const T* max, const T* sums, Index rows, Index tokens) {
  double total = 0;  // in double: the mean over many rows is compared to five digits
  for (Index r = 0; r < rows; ++r)
    total +=
        std::log(static_cast<double>(sums[2 * r])) + static_cast<double>(max[r]) - static_cast<double>(sums[2 * r + 1]);
  loss[0] = static_cast<T>(total / static_cast<double>(tokens));
}

template <class T>
void cross_entropy_backward(T* dlogits, const T* logits, const T* max, const T* sums, const std::int32_t* targets,
                            Index rows, Index V, Index offset, Index tokens) {
  const T scale = T(1) / static_cast<T>(tokens);
  for (Index r = 0; r < rows; ++r) {
    const Index target = targets[r] - offset;
    Array<T>(dlogits + r * V, V) = (ConstArray<T>(logits + r * V, V) - max[r]).exp() * (scale / sums[2 * r]);
    if (target >= 0 && target < V) dlogits[r * V + target] -= scale;
  }
}

#define INSTANTIATE(T)                                                                                             \
  template void logits_max(T*, const T*, Index, Index);                                                            \
  template void logits_sum(T*, const T*, const T*, const std::int32_t*, Index, Index, Index);                      \
  template void cross_entropy_forward(T*, const T*, const T*, Index, Index);                                       \
  template void cross_entropy_backward(T*, const T*, const T*, const T*, const std::int32_t*, Index, Index, Index, \
                                       Index);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace trainwire::cpu
