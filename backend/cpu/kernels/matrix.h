// Eigen views on the raw arrays that kernels get. Included by kernels alone.
#pragma once
#include <Eigen/Core>
#include <cstdint>

namespace trainwire::cpu {

using Index = std::int64_t;

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Matrix = Eigen::Map<RowMajor<T>>;
template <class T>
using ConstMatrix = Eigen::Map<const RowMajor<T>>;
// Rows of a wider matrix.
template <class T>
using Slice = Eigen::Map<RowMajor<T>, 0, Eigen::OuterStride<>>;
template <class T>
using ConstSlice = Eigen::Map<const RowMajor<T>, 0, Eigen::OuterStride<>>;
template <class T>
using Array = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;
template <class T>
using ConstArray = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;

}  // namespace trainwire::cpu
