// Batch normalisation with the statistics of the local micro-batch (Ioffe & Szegedy 2015), and pooling.
#include <cmath>
#include <limits>

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/matrix.h"

namespace trainwire::cpu {

template <class T>
void batch_norm_forward(T* y, T* statistics, const T* x, const T* gain, const T* bias, Index B, Index C, Index hw,
                        float epsilon) {
  const T count = static_cast<T>(B * hw);
  for (Index c = 0; c < C; ++c) {
    T sum = 0, squares = 0;
    for (Index b = 0; b < B; ++b) sum += ConstArray<T>(x + (b * C + c) * hw, hw).sum();
    const T mean = sum / count;
    for (Index b = 0; b < B; ++b) squares += (ConstArray<T>(x + (b * C + c) * hw, hw) - mean).square().sum();
    const T inverse = T(1) / std::sqrt(squares / count + T(epsilon));
    statistics[2 * c] = mean;
    statistics[2 * c + 1] = inverse;
    const T scale = inverse * gain[c], shift = bias[c] - mean * scale;
    for (Index b = 0; b < B; ++b)
      Array<T>(y + (b * C + c) * hw, hw) = ConstArray<T>(x + (b * C + c) * hw, hw) * scale + shift;
  }
}

template <class T>
void batch_norm_backward(T* dx, T* dgain, T* dbias, const T* dy, const T* x, const T* gain, const T* statistics,
                         Index B, Index C, Index hw, bool accumulate) {
  const T count = static_cast<T>(B * hw);
  for (Index c = 0; c < C; ++c) {
    const T mean = statistics[2 * c], inverse = statistics[2 * c + 1];
    T sum = 0, product = 0;
    for (Index b = 0; b < B; ++b) {
      const ConstArray<T> in(x + (b * C + c) * hw, hw), out_gradient(dy + (b * C + c) * hw, hw);
      sum += out_gradient.sum();
      product += (out_gradient * (in - mean)).sum() * inverse;
    }
    dgain[c] = (accumulate ? dgain[c] : T(0)) + product;
    dbias[c] = (accumulate ? dbias[c] : T(0)) + sum;
    const T mean_gradient = sum / count, slope = product / count * inverse, scale = gain[c] * inverse;
    for (Index b = 0; b < B; ++b) {
      const ConstArray<T> in(x + (b * C + c) * hw, hw), out_gradient(dy + (b * C + c) * hw, hw);
      Array<T>(dx + (b * C + c) * hw, hw) = (out_gradient - mean_gradient - (in - mean) * slope) * scale;
    }
  }
}

template <class T>
void max_pool_forward(T* y, std::int32_t* index, const T* x, const ConvShape& s) {
  const Index oh = s.oh(), ow = s.ow();
  for (Index plane = 0; plane < s.B * s.C; ++plane) {
    const T* in = x + plane * s.h * s.w;
    for (Index o = 0; o < oh * ow; ++o) {
      const Index top = o / ow * s.stride - s.padding, left = o % ow * s.stride - s.padding;
      T best = -std::numeric_limits<T>::infinity();
      Index where = 0;
      for (Index iy = std::max<Index>(top, 0); iy < std::min(top + s.kernel, s.h); ++iy)
        for (Index ix = std::max<Index>(left, 0); ix < std::min(left + s.kernel, s.w); ++ix)
          if (in[iy * s.w + ix] > best) {
            where = iy * s.w + ix;
            best = in[where];
          }
      y[plane * oh * ow + o] = best;
      index[plane * oh * ow + o] = static_cast<std::int32_t>(where);
    }
  }
}

template <class T>
void max_pool_backward(T* dx, const T* dy, const std::int32_t* index, const ConvShape& s) {
  const Index P = s.oh() * s.ow();
  std::fill_n(dx, s.B * s.C * s.h * s.w, T(0));
  for (Index plane = 0; plane < s.B * s.C; ++plane)
    for (Index o = 0; o < P; ++o) dx[plane * s.h * s.w + index[plane * P + o]] += dy[plane * P + o];
}

template <class T>
void mean_pool_forward(T* y, const T* x, Index planes, Index hw) {
  for (Index plane = 0; plane < planes; ++plane) y[plane] = ConstArray<T>(x + plane * hw, hw).mean();
}

template <class T>
void mean_pool_backward(T* dx, const T* dy, Index planes, Index hw) {
  for (Index plane = 0; plane < planes; ++plane) std::fill_n(dx + plane * hw, hw, dy[plane] / static_cast<T>(hw));
}

#define INSTANTIATE(T)                                                                                              \
  template void batch_norm_forward(T*, T*, const T*, const T*, const T*, Index, Index, Index, float);               \
  template void batch_norm_backward(T*, T*, T*, const T*, const T*, const T*, const T*, Index, Index, Index, bool); \
  template void max_pool_forward(T*, std::int32_t*, const T*, const ConvShape&);                                    \
  template void max_pool_backward(T*, const T*, const std::int32_t*, const ConvShape&);                             \
  template void mean_pool_forward(T*, const T*, Index, Index);                                                      \
  template void mean_pool_backward(T*, const T*, Index, Index);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace trainwire::cpu
