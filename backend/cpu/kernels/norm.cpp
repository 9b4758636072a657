// Normalisation of rows: LayerNorm (Ba et al. 2016) and RMSNorm (Zhang & Sennrich 2019).
#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/matrix.h"

namespace trainwire::cpu {

template <class T>
void layer_norm_forward(T* y, T* statistics, const T* x, const T* gain, const T* bias, Index rows, Index H,
                        float epsilon) {
  const ConstArray<T> g(gain, H), b(bias, H);
  for (Index r = 0; r < rows; ++r) {
    const ConstArray<T> in(x + r * H, H);
    const T mean = in.mean();
    const T inverse = T(1) / std::sqrt((in - mean).square().mean() + T(epsilon));
    statistics[2 * r] = mean;
    statistics[2 * r + 1] = inverse;
    Array<T>(y + r * H, H) = (in - mean) * inverse * g + b;
  }
}

template <class T>
void layer_norm_backward(T* dx, T* dgain, T* dbias, const T* dy, const T* x, const T* gain, const T* statistics,
                         Index rows, Index H, bool accumulate) {
  const ConstArray<T> g(gain, H);
  Array<T> gain_gradient(dgain, H), bias_gradient(dbias, H);
  if (!accumulate) {
    gain_gradient.setZero();
    bias_gradient.setZero();
  }
  for (Index r = 0; r < rows; ++r) {
    const ConstArray<T> in(x + r * H, H), out_gradient(dy + r * H, H);
    const T mean = statistics[2 * r], inverse = statistics[2 * r + 1];
    const auto normal = (in - mean) * inverse;
    const auto scaled = out_gradient * g;
    const T mean_gradient = scaled.mean(), mean_product = (scaled * normal).mean();
    gain_gradient += out_gradient * normal;
    bias_gradient += out_gradient;
    Array<T>(dx + r * H, H) = inverse * (scaled - mean_gradient - normal * mean_product);
  }
}

template <class T>
void rms_norm_forward(T* y, T* statistics, const T* x, const T* gain, Index rows, Index H, float epsilon) {
  const ConstArray<T> g(gain, H);
  for (Index r = 0; r < rows; ++r) {
    const ConstArray<T> in(x + r * H, H);
    const T inverse = T(1) / std::sqrt(in.square().mean() + T(epsilon));
    statistics[r] = inverse;
    Array<T>(y + r * H, H) = in * inverse * g;
  }
}

template <class T>
void rms_norm_backward(T* dx, T* dgain, const T* dy, const T* x, const T* gain, const T* statistics, Index rows,
                       Index H, bool accumulate) {
  const ConstArray<T> g(gain, H);
  Array<T> gain_gradient(dgain, H);
  if (!accumulate) gain_gradient.setZero();
  for (Index r = 0; r < rows; ++r) {
    const ConstArray<T> in(x + r * H, H), out_gradient(dy + r * H, H);
    const T inverse = statistics[r];
    const T mean_product = (out_gradient * g * in).mean() * inverse * inverse;
    gain_gradient += out_gradient * in * inverse;
    Array<T>(dx + r * H, H) = inverse * (out_gradient * g - in * mean_product);
  }
}

#define INSTANTIATE(T)                                                                                       \
  template void layer_norm_forward(T*, T*, const T*, const T*, const T*, Index, Index, float);               \
  template void layer_norm_backward(T*, T*, T*, const T*, const T*, const T*, const T*, Index, Index, bool); \
  template void rms_norm_forward(T*, T*, const T*, const T*, Index, Index, float);                           \
  template void rms_norm_backward(T*, T*, const T*, const T*, const T*, const T*, Index, Index, bool);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace trainwire::cpu
