// Matrix products, and the bias that a row-parallel product adds after its all-reduce.
#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/matrix.h"

namespace trainwire::cpu {

template <class T>
void linear_forward(T* y, const T* x, const T* w, const T* bias, Index M, Index N, Index K, bool transposed) {
  Matrix<T> out(y, M, N);
  const ConstMatrix<T> in(x, M, K);
  // The product adds to its destination: starting from the bias saves a pass.
  if (bias != nullptr) {
    out.rowwise() = ConstMatrix<T>(bias, 1, N).row(0);
  } else {
    out.setZero();
  }
  if (transposed) {
    out.noalias() += in * ConstMatrix<T>(w, N, K).transpose();
  } else {
    out.noalias() += in * ConstMatrix<T>(w, K, N);
  }
}

template <class T>
void linear_input_gradient(T* dx, const T* dy, const T* w, Index M, Index N, Index K, bool transposed) {
  Matrix<T> out(dx, M, K);
  const ConstMatrix<T> in(dy, M, N);
  if (transposed) {
    out.noalias() = in * ConstMatrix<T>(w, N, K);
  } else {
    out.noalias() = in * ConstMatrix<T>(w, K, N).transpose();
  }
}

template <class T>
void linear_weight_gradient(T* dw, T* dbias, const T* dy, const T* x, Index M, Index N, Index K, bool transposed,
                            bool accumulate) {
  const ConstMatrix<T> out_gradient(dy, M, N), in(x, M, K);
  Matrix<T> gradient(dw, transposed ? N : K, transposed ? K : N);
  if (!accumulate) gradient.setZero();
  if (transposed) {
    gradient.noalias() += out_gradient.transpose() * in;
  } else {
    gradient.noalias() += in.transpose() * out_gradient;
  }
  if (dbias != nullptr) bias_gradient(dbias, dy, M, N, accumulate);
}

template <class T>
void bias_forward(T* y, const T* x, const T* bias, Index M, Index N) {
  Matrix<T>(y, M, N) = ConstMatrix<T>(x, M, N).rowwise() + ConstMatrix<T>(bias, 1, N).row(0);
}

template <class T>
void bias_gradient(T* dbias, const T* dy, Index M, Index N, bool accumulate) {
  Array<T> gradient(dbias, N);
  if (!accumulate) gradient.setZero();
  for (Index row = 0; row < M; ++row) gradient += ConstArray<T>(dy + row * N, N);
}

#define INSTANTIATE(T)                                                                               \
  template void linear_forward(T*, const T*, const T*, const T*, Index, Index, Index, bool);         \
  template void linear_input_gradient(T*, const T*, const T*, Index, Index, Index, bool);            \
  template void linear_weight_gradient(T*, T*, const T*, const T*, Index, Index, Index, bool, bool); \
  template void bias_forward(T*, const T*, const T*, Index, Index);                                  \
  template void bias_gradient(T*, const T*, Index, Index, bool);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace trainwire::cpu
