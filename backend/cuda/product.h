// A row-major product as the column-major one that BLAS libraries compute: a matrix that is stored row by row is its
// own transpose stored column by column, and (A·B)ᵀ = Bᵀ·Aᵀ.
#pragma once
#include "backend/cuda/device.h"

namespace trainwire::cuda {

// Column-major C (m,n) = op(A) (m,k) · op(B) (k,n). The bias is added to each column: one element a row of C.
struct ColumnMajorProduct {
  std::int64_t m, n, k;
  const void *a, *b;
  std::int64_t lda, ldb, ldc, stride_a, stride_b;
  bool transpose_a, transpose_b;
  std::int64_t a_rows() const { return transpose_a ? k : m; }
  std::int64_t a_columns() const { return transpose_a ? m : k; }
  std::int64_t b_rows() const { return transpose_b ? n : k; }
  std::int64_t b_columns() const { return transpose_b ? k : n; }
};

inline ColumnMajorProduct column_major(const Product& p) {
  return {p.N, p.M, p.K, p.b, p.a, p.ldb, p.lda, p.ldc, p.stride_b, p.stride_a, p.transpose_b, p.transpose_a};
}

}  // namespace trainwire::cuda
