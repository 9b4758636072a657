// Elementwise operations.
#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/matrix.h"

namespace trainwire::cpu {
namespace {

// GELU by tanh as in GPT-2 (Hendrycks & Gimpel 2016): x/2 · (1 + tanh(a · (x + b x³))), a = √(2/π).
template <class T>
constexpr T gelu_a = T(0.7978845608028653558798921198687637369);
template <class T>
constexpr T gelu_b = T(0.044715);

// 1 / (1 + e^−x) = (1 + tanh(x/2)) / 2
template <class A>
auto sigmoid(const A& x) {
  using T = typename A::Scalar;
  return (x * T(0.5)).tanh() * T(0.5) + T(0.5);
}

}  // namespace

template <class T>
void gelu_forward(T* y, const T* x, Index n) {
  const ConstArray<T> in(x, n);
  Array<T>(y, n) = in * T(0.5) * ((in * gelu_a<T> * (in.square() * gelu_b<T> + T(1))).tanh() + T(1));
}

template <class T>
void gelu_backward(T* dx, const T* dy, const T* x, Index n) {
  constexpr Index block = 512;  // the tanh is used twice: kept in a small array
  Eigen::Array<T, Eigen::Dynamic, 1, 0, block, 1> t;
  for (Index first = 0; first < n; first += block) {
    const Index count = std::min(block, n - first);
    const ConstArray<T> in(x + first, count), out_gradient(dy + first, count);
    t = (in * gelu_a<T> * (in.square() * gelu_b<T> + T(1))).tanh();
    Array<T>(dx + first, count) =
        out_gradient * T(0.5) *
        (T(1) + t + in * (T(1) - t.square()) * gelu_a<T> * (in.square() * (T(3) * gelu_b<T>)+T(1)));
  }
}

template <class T>
void relu_forward(T* y, const T* x, Index n) {
  Array<T>(y, n) = ConstArray<T>(x, n).max(T(0));
}

template <class T>
void relu_backward(T* dx, const T* dy, const T* x, Index n) {
  Array<T>(dx, n) = (ConstArray<T>(x, n) > T(0)).select(ConstArray<T>(dy, n), T(0));
}

template <class T>
void swiglu_forward(T* y, const T* x, Index rows, Index F) {
  for (Index r = 0; r < rows; ++r) {
    const ConstArray<T> gate(x + r * 2 * F, F), value(x + r * 2 * F + F, F);
    Array<T>(y + r * F, F) = gate * sigmoid(gate) * value;
  }
}

template <class T>
void swiglu_backward(T* dx, const T* dy, const T* x, Index rows, Index F) {
  constexpr Index block = 512;
  Eigen::Array<T, Eigen::Dynamic, 1, 0, block, 1> s;
  for (Index r = 0; r < rows; ++r) {
    for (Index first = 0; first < F; first += block) {
      const Index count = std::min(block, F - first), at = r * 2 * F + first;
      const ConstArray<T> gate(x + at, count), value(x + at + F, count), out_gradient(dy + r * F + first, count);
      s = sigmoid(gate);
      Array<T>(dx + at, count) = out_gradient * value * s * (T(1) + gate * (T(1) - s));
      Array<T>(dx + at + F, count) = out_gradient * gate * s;
    }
  }
}

template <class T>
void add(T* c, const T* a, const T* b, Index n) {
  Array<T>(c, n) = ConstArray<T>(a, n) + ConstArray<T>(b, n);
}

#define INSTANTIATE(T)                                                 \
  template void gelu_forward(T*, const T*, Index);                     \
  template void gelu_backward(T*, const T*, const T*, Index);          \
  template void relu_forward(T*, const T*, Index);                     \
  template void relu_backward(T*, const T*, const T*, Index);          \
  template void swiglu_forward(T*, const T*, Index, Index);            \
  template void swiglu_backward(T*, const T*, const T*, Index, Index); \
  template void add(T*, const T*, const T*, Index);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace trainwire::cpu
