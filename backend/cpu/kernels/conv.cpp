// Convolution as a matrix product on unfolded images (im2col): y_b (O,P) = weight (O,C·k·k) · columns (C·k·k,P).
#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/matrix.h"

namespace trainwire::cpu {
namespace {

Index unfolded_rows(const ConvShape& s) { return s.C * s.kernel * s.kernel; }
Index positions(const ConvShape& s) { return s.oh() * s.ow(); }
// A 1×1 convolution of stride 1 needs no unfolding: the image is its own column matrix.
bool is_pointwise(const ConvShape& s) { return s.kernel == 1 && s.stride == 1 && s.padding == 0; }

// Calls visit(unfolded row, first output column, input row or null when it is padding, kx) for each line of outputs.
template <class T, class Visit>
void for_each_line(T* image, const ConvShape& s, const Visit& visit) {
  const Index ow = s.ow();
  for (Index c = 0, row = 0; c < s.C; ++c)
    for (Index ky = 0; ky < s.kernel; ++ky)
      for (Index kx = 0; kx < s.kernel; ++kx, ++row)
        for (Index oy = 0; oy < s.oh(); ++oy) {
          const Index iy = oy * s.stride + ky - s.padding;
          visit(row, oy * ow, iy >= 0 && iy < s.h ? image + (c * s.h + iy) * s.w : nullptr, kx);
        }
}

// The outputs ox in [first, last) whose input ox·stride + kx − padding lies inside the image.
struct Inside {
  Index first, last;
};
Inside inside(const ConvShape& s, Index kx) {
  const Index shift = kx - s.padding;
  const Index first = shift >= 0 ? 0 : (-shift + s.stride - 1) / s.stride;
  const Index last = s.w - shift <= 0 ? 0 : (s.w - shift - 1) / s.stride + 1;
  return {std::min(first, s.ow()), std::clamp(last, std::min(first, s.ow()), s.ow())};
}

template <class T>
void unfold(T* columns, const T* image, const ConvShape& s) {
  const Index P = positions(s), ow = s.ow();
  for_each_line(image, s, [&](Index row, Index at, const T* line, Index kx) {
    T* out = columns + row * P + at;
    if (line == nullptr) {
      std::fill_n(out, ow, T(0));
      return;
    }
    const Inside in = inside(s, kx);
    std::fill(out, out + in.first, T(0));
    for (Index ox = in.first; ox < in.last; ++ox) out[ox] = line[ox * s.stride + kx - s.padding];
    std::fill(out + in.last, out + ow, T(0));
  });
}

template <class T>
void fold(T* image, const T* columns, const ConvShape& s) {
  const Index P = positions(s);
  std::fill_n(image, s.C * s.h * s.w, T(0));
  for_each_line(image, s, [&](Index row, Index at, T* line, Index kx) {
    if (line == nullptr) return;
    const T* in = columns + row * P + at;
    const Inside range = inside(s, kx);
    for (Index ox = range.first; ox < range.last; ++ox) line[ox * s.stride + kx - s.padding] += in[ox];
  });
}

}  // namespace

template <class T>
void conv2d_forward(T* y, const T* x, const T* weight, const ConvShape& s, Workspace<T>& workspace) {
  const Index R = unfolded_rows(s), P = positions(s);
  T* columns = is_pointwise(s) ? nullptr : workspace.scratch(R * P);
  for (Index b = 0; b < s.B; ++b) {
    const T* image = x + b * s.C * s.h * s.w;
    if (columns != nullptr) unfold(columns, image, s);
    Matrix<T>(y + b * s.O * P, s.O, P).noalias() =
        ConstMatrix<T>(weight, s.O, R) * ConstMatrix<T>(columns != nullptr ? columns : image, R, P);
  }
}

template <class T>
void conv2d_input_gradient(T* dx, const T* dy, const T* weight, const ConvShape& s, Workspace<T>& workspace) {
  const Index R = unfolded_rows(s), P = positions(s);
  T* columns = is_pointwise(s) ? nullptr : workspace.scratch(R * P);
  for (Index b = 0; b < s.B; ++b) {
    T* image = dx + b * s.C * s.h * s.w;
    Matrix<T>(columns != nullptr ? columns : image, R, P).noalias() =
        ConstMatrix<T>(weight, s.O, R).transpose() * ConstMatrix<T>(dy + b * s.O * P, s.O, P);
    if (columns != nullptr) fold(image, columns, s);
  }
}

template <class T>
void conv2d_weight_gradient(T* dweight, const T* dy, const T* x, const ConvShape& s, bool accumulate,
                            Workspace<T>& workspace) {
  const Index R = unfolded_rows(s), P = positions(s);
  T* columns = is_pointwise(s) ? nullptr : workspace.scratch(R * P);
  Matrix<T> gradient(dweight, s.O, R);
  if (!accumulate) gradient.setZero();
  for (Index b = 0; b < s.B; ++b) {
    const T* image = x + b * s.C * s.h * s.w;
    if (columns != nullptr) unfold(columns, image, s);
    gradient.noalias() += ConstMatrix<T>(dy + b * s.O * P, s.O, P) *
                          ConstMatrix<T>(columns != nullptr ? columns : image, R, P).transpose();
  }
}

#define INSTANTIATE(T)                                                                          \
  template void conv2d_forward(T*, const T*, const T*, const ConvShape&, Workspace<T>&);        \
  template void conv2d_input_gradient(T*, const T*, const T*, const ConvShape&, Workspace<T>&); \
  template void conv2d_weight_gradient(T*, const T*, const T*, const ConvShape&, bool, Workspace<T>&);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace trainwire::cpu
