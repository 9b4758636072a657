// Images: unfolding for convolutions (im2col), batch normalisation over the local micro-batch, pooling.
#pragma once
#include "backend/cuda/kernels/types.h"

namespace trainwire::cuda {

struct Window {
  Index B, C, h, w, kernel, stride, padding;
  TRAINWIRE_BOTH Index oh() const { return (h + 2 * padding - kernel) / stride + 1; }
  TRAINWIRE_BOTH Index ow() const { return (w + 2 * padding - kernel) / stride + 1; }
};

// columns (B, C·k·k, oh·ow) of x (B,C,h,w)
template <class T>
struct Unfold {
  T* columns;
  const T* x;
  Window s;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const Index P = s.oh() * s.ow(), ox = i % s.ow(), oy = i / s.ow() % s.oh(), row = i / P;
    const Index kx = row % s.kernel, ky = row / s.kernel % s.kernel, plane = row / (s.kernel * s.kernel);
    const Index iy = oy * s.stride + ky - s.padding, ix = ox * s.stride + kx - s.padding;
    const bool inside = iy >= 0 && iy < s.h && ix >= 0 && ix < s.w;
    columns[i] = inside ? x[(plane * s.h + iy) * s.w + ix] : T(0.0F);
  }
  Index count() const { return s.B * s.C * s.kernel * s.kernel * s.oh() * s.ow(); }
};

// The gradient of Unfold: each pixel gathers from the windows that saw it.
template <class T>
struct Fold {
  T* dx;
  const T* columns;
  Window s;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const Index ix = i % s.w, iy = i / s.w % s.h, plane = i / (s.w * s.h), P = s.oh() * s.ow();
    Real<T> sum = 0;
    for (Index ky = 0; ky < s.kernel; ++ky)
      for (Index kx = 0; kx < s.kernel; ++kx) {
        const Index y = iy + s.padding - ky, x = ix + s.padding - kx;
        if (y < 0 || x < 0 || y % s.stride != 0 || x % s.stride != 0) continue;
        const Index oy = y / s.stride, ox = x / s.stride;
        if (oy < s.oh() && ox < s.ow())
          sum += load(columns, ((plane * s.kernel + ky) * s.kernel + kx) * P + oy * s.ow() + ox);
      }
    store(dx, i, sum);
  }
  Index count() const { return s.B * s.C * s.h * s.w; }
};

// A team a channel. statistics (C,2): mean and 1/sigma over the B·hw values of a channel.
template <class T>
struct BatchNorm {
  using A = Real<T>;
  T* y;
  A* statistics;
  const T *x, *gain, *bias;
  Index B, C, hw;
  double epsilon;
  template <class Team>
  TRAINWIRE_BOTH void operator()(Team& team, Index c) const {
    const Index n = B * hw;
    const auto at = [&](Index i) { return (i / hw * C + c) * hw + i % hw; };
    A sum = 0, squares = 0;
    for (Index i = team.rank(); i < n; i += team.size()) sum += load(x, at(i));
    const A mean = team.sum(sum) / static_cast<A>(n);
    for (Index i = team.rank(); i < n; i += team.size()) {
      const A d = load(x, at(i)) - mean;
      squares += d * d;
    }
    const A inverse = A(1) / std::sqrt(team.sum(squares) / static_cast<A>(n) + static_cast<A>(epsilon));
    const A scale = inverse * load(gain, c), shift = load(bias, c) - mean * scale;
    for (Index i = team.rank(); i < n; i += team.size()) store(y, at(i), load(x, at(i)) * scale + shift);
    if (team.rank() == 0) {
      statistics[2 * c] = mean;
      statistics[2 * c + 1] = inverse;
    }
  }
};

template <class T, class G>
struct BatchNormBackward {
  using A = Real<T>;
  T* dx;
  G *dgain, *dbias;
  const T *dy, *x, *gain;
  const A* statistics;
  Index B, C, hw;
  bool accumulate;
  template <class Team>
  TRAINWIRE_BOTH void operator()(Team& team, Index c) const {
    const Index n = B * hw;
    const auto at = [&](Index i) { return (i / hw * C + c) * hw + i % hw; };
    const A mean = statistics[2 * c], inverse = statistics[2 * c + 1];
    A sum = 0, product = 0;
    for (Index i = team.rank(); i < n; i += team.size()) {
      sum += load(dy, at(i));
      product += load(dy, at(i)) * (load(x, at(i)) - mean) * inverse;
    }
    sum = team.sum(sum);
    product = team.sum(product);
    const A mean_gradient = sum / static_cast<A>(n), slope = product / static_cast<A>(n) * inverse;
    const A scale = load(gain, c) * inverse;
    for (Index i = team.rank(); i < n; i += team.size())
      store(dx, at(i), (load(dy, at(i)) - mean_gradient - (load(x, at(i)) - mean) * slope) * scale);
    if (team.rank() != 0) return;
    store(dgain, c, (accumulate ? static_cast<A>(load(dgain, c)) : A(0)) + product);
    store(dbias, c, (accumulate ? static_cast<A>(load(dbias, c)) : A(0)) + sum);
  }
};

// index (B,C,oh,ow): position of the maximum in its (h,w) plane; of equals the first.
template <class T>
struct MaxPool {
  T* y;
  std::int32_t* index;
  const T* x;
  Window s;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const Index P = s.oh() * s.ow(), plane = i / P, top = i % P / s.ow() * s.stride - s.padding;
    const Index left = i % s.ow() * s.stride - s.padding;
    Real<T> best = lowest<Real<T>>();
    Index where = 0;
    for (Index iy = top < 0 ? 0 : top; iy < top + s.kernel && iy < s.h; ++iy)
      for (Index ix = left < 0 ? 0 : left; ix < left + s.kernel && ix < s.w; ++ix) {
        const Real<T> value = load(x, (plane * s.h + iy) * s.w + ix);
        if (value > best) {
          best = value;
          where = iy * s.w + ix;
        }
      }
    store(y, i, best);
    index[i] = static_cast<std::int32_t>(where);
  }
  Index count() const { return s.B * s.C * s.oh() * s.ow(); }
};

// Each pixel gathers from the windows whose maximum it was.
template <class T>
struct MaxPoolBackward {
  T* dx;
  const T* dy;
  const std::int32_t* index;
  Window s;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const Index pixel = i % (s.h * s.w), ix = pixel % s.w, iy = pixel / s.w, plane = i / (s.h * s.w);
    Real<T> sum = 0;
    for (Index ky = 0; ky < s.kernel; ++ky)
      for (Index kx = 0; kx < s.kernel; ++kx) {
        const Index y = iy + s.padding - ky, x = ix + s.padding - kx;
        if (y < 0 || x < 0 || y % s.stride != 0 || x % s.stride != 0) continue;
        const Index oy = y / s.stride, ox = x / s.stride;
        if (oy >= s.oh() || ox >= s.ow()) continue;
        const Index o = (plane * s.oh() + oy) * s.ow() + ox;
        if (index[o] == pixel) sum += load(dy, o);
      }
    store(dx, i, sum);
  }
  Index count() const { return s.B * s.C * s.h * s.w; }
};

template <class T>
struct MeanPool {
  T* y;
  const T* x;
  Index planes, hw;
  template <class Team>
  TRAINWIRE_BOTH void operator()(Team& team, Index plane) const {
    Real<T> sum = 0;
    for (Index i = team.rank(); i < hw; i += team.size()) sum += load(x, plane * hw + i);
    sum = team.sum(sum);
    if (team.rank() == 0) store(y, plane, sum / static_cast<Real<T>>(hw));
  }
};
template <class T>
struct MeanPoolBackward {
  T* dx;
  const T* dy;
  Index planes, hw;
  TRAINWIRE_BOTH void operator()(Index i) const { store(dx, i, load(dy, i / hw) / static_cast<Real<T>>(hw)); }
  Index count() const { return planes * hw; }
};

}  // namespace trainwire::cuda
