// Sums down the columns, for gradients of parameters: one call a column and chunk of rows writes a partial sum; a
// second kernel adds the chunks. No atomics: the same numbers every time.
#pragma once
#include "backend/cuda/kernels/types.h"

namespace trainwire::cuda {

struct RowRange {
  Index first, last;
};
TRAINWIRE_BOTH inline RowRange chunk_rows(Index rows, Index chunks, Index chunk) {
  const Index size = (rows + chunks - 1) / chunks, first = chunk * size < rows ? chunk * size : rows;
  return {first, first + size < rows ? first + size : rows};
}

// partial (chunks,N)
template <class T>
struct ColumnSums {
  using A = Real<T>;
  A* partial;
  const T* dy;
  Index rows, N, chunks;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const RowRange range = chunk_rows(rows, chunks, i / N);
    A sum = 0;
    for (Index r = range.first; r < range.last; ++r) sum += load(dy, r * N + i % N);
    partial[i] = sum;
  }
  Index count() const { return chunks * N; }
};

// partial (chunks,2,N): dgain, dbias; statistics (rows,2)
template <class T>
struct LayerNormSums {
  using A = Real<T>;
  A* partial;
  const T *dy, *x;
  const A* statistics;
  Index rows, N, chunks;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const Index chunk = i / N, column = i % N;
    const RowRange range = chunk_rows(rows, chunks, chunk);
    A gain = 0, bias = 0;
    for (Index r = range.first; r < range.last; ++r) {
      const A d = load(dy, r * N + column);
      gain += d * (load(x, r * N + column) - statistics[2 * r]) * statistics[2 * r + 1];
      bias += d;
    }
    partial[2 * chunk * N + column] = gain;
    partial[(2 * chunk + 1) * N + column] = bias;
  }
  Index count() const { return chunks * N; }
};

// partial (chunks,N): dgain; statistics (rows)
template <class T>
struct RmsNormSums {
  using A = Real<T>;
  A* partial;
  const T *dy, *x;
  const A* statistics;
  Index rows, N, chunks;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const RowRange range = chunk_rows(rows, chunks, i / N);
    A gain = 0;
    for (Index r = range.first; r < range.last; ++r)
      gain += load(dy, r * N + i % N) * load(x, r * N + i % N) * statistics[r];
    partial[i] = gain;
  }
  Index count() const { return chunks * N; }
};

template <class A, class G>
struct ColumnFinish {
  G* out;
  const A* partial;
  Index N, chunks, width, first;
  bool accumulate;
  TRAINWIRE_BOTH void operator()(Index i) const {
    A sum = accumulate ? static_cast<A>(load(out, i)) : A(0);
    for (Index c = 0; c < chunks; ++c) sum += partial[c * width + first + i];
    store(out, i, sum);
  }
  Index count() const { return N; }
};

}  // namespace trainwire::cuda
