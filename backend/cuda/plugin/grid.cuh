// Bodies (kernels/) on a GPU: a thread an element, a block a row or tile.
#pragma once
#include <mma.h>

#include <algorithm>

#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/plugin/kernels.h"

namespace trainwire::cuda {

constexpr int element_threads = 256, block_threads = 256, most_threads = 1024;
constexpr Index most_blocks = 1 << 30;  // a grid's x may have 2^31 − 1

// A block of threads; its warps are the groups of lanes.
class Block {
 public:
  __device__ explicit Block(char* shared) : shared_(shared) {}
  __device__ Index rank() const { return threadIdx.x; }
  __device__ Index size() const { return blockDim.x; }
  __device__ Index lane() const { return threadIdx.x % 32; }
  __device__ Index lanes() const { return 32; }
  __device__ Index group() const { return threadIdx.x / 32; }
  __device__ Index groups() const { return blockDim.x / 32; }
  __device__ void sync() const { __syncthreads(); }
  __device__ char* shared() const { return shared_; }

  template <class A>
  __device__ A lane_sum(A x) const {
    for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(0xffffffffU, x, offset);
    return x;
  }
  template <class A>
  __device__ A lane_maximum(A x) const {
    for (int offset = 16; offset > 0; offset /= 2) x = larger(x, __shfl_xor_sync(0xffffffffU, x, offset));
    return x;
  }
  template <class A>
  __device__ A sum(A x) const {
    __shared__ A partial[32];
    x = lane_sum(x);
    __syncthreads();  // everybody has read what an earlier call left
    if (lane() == 0) partial[group()] = x;
    __syncthreads();
    A all = partial[0];
    for (int i = 1; i < static_cast<int>(groups()); ++i) all += partial[i];
    return all;
  }
  template <class A>
  __device__ A maximum(A x) const {
    __shared__ A partial[32];
    x = lane_maximum(x);
    __syncthreads();
    if (lane() == 0) partial[group()] = x;
    __syncthreads();
    A all = partial[0];
    for (int i = 1; i < static_cast<int>(groups()); ++i) all = larger(all, partial[i]);
    return all;
  }

  // 16-bit tiles on the tensor cores, a warp a 16×16 part of C; fp32 by plain multiply-adds.
  template <class T>
  __device__ void multiply(const TileProduct<T>& p) {
    if constexpr (std::is_same_v<T, bf16>) {
      multiply_tiles<__nv_bfloat16>(p);
    } else if constexpr (std::is_same_v<T, fp16>) {
      multiply_tiles<__half>(p);
    } else {
      multiply_plainly(*this, p);
    }
  }

 private:
  template <class Half, class T>
  __device__ void multiply_tiles(const TileProduct<T>& p) const {
    using nvcuda::wmma::col_major;
    using nvcuda::wmma::row_major;
    // Stored transposed by rows is stored by columns.
    if (p.transpose_a)
      multiply_laid_out<Half, T, col_major, row_major>(p);  // no caller transposes both
    else if (p.transpose_b)
      multiply_laid_out<Half, T, row_major, col_major>(p);
    else
      multiply_laid_out<Half, T, row_major, row_major>(p);
  }
  template <class Half, class T, class LayoutA, class LayoutB>
  __device__ void multiply_laid_out(const TileProduct<T>& p) const {
    using namespace nvcuda;
    const Half* a = reinterpret_cast<const Half*>(p.a);
    const Half* b = reinterpret_cast<const Half*>(p.b);
    const int lda = static_cast<int>(p.lda), ldb = static_cast<int>(p.ldb), ldc = static_cast<int>(p.ldc);
    const int columns = static_cast<int>(p.n) / 16, tiles = static_cast<int>(p.m) / 16 * columns;
    for (int t = static_cast<int>(group()); t < tiles; t += static_cast<int>(groups())) {
      const int i = t / columns * 16, j = t % columns * 16;
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
      if (p.accumulate)
        wmma::load_matrix_sync(sum, p.c + i * ldc + j, ldc, wmma::mem_row_major);
      else
        wmma::fill_fragment(sum, 0.0F);
      for (int l = 0; l < static_cast<int>(p.k); l += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, Half, LayoutA> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, Half, LayoutB> right;
        wmma::load_matrix_sync(left, p.transpose_a ? a + l * lda + i : a + i * lda + l, lda);
        wmma::load_matrix_sync(right, p.transpose_b ? b + j * ldb + l : b + l * ldb + j, ldb);
        wmma::mma_sync(sum, left, right, sum);
      }
      wmma::store_matrix_sync(p.c + i * ldc + j, sum, ldc, wmma::mem_row_major);
    }
  }

  char* shared_;
};

template <class Body>
__global__ void __launch_bounds__(element_threads) by_element(const Body body, Index count) {
  const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) body(i);
}

template <class Body>
__global__ void __launch_bounds__(most_threads) by_row(const Body body) {
  Block team(nullptr);
  body(team, blockIdx.x);
}

template <class Body>
__global__ void __launch_bounds__(block_threads) by_block(const Body body) {
  extern __shared__ __align__(128) char memory[];
  Block team(memory);
  body(team, blockIdx.x);
}

struct DeviceGrid {
  static constexpr bool has_fp64 = false;
  cudaStream_t stream;

  template <class Body>
  void elements(const Body& body, Index count) {
    if (count <= 0) return;
    const auto blocks = static_cast<unsigned>(std::min((count + element_threads - 1) / element_threads, most_blocks));
    by_element<<<blocks, element_threads, 0, stream>>>(body, count);
    check(cudaGetLastError(), "launch by element");
  }
  // width: how many threads have something to do in a row.
  template <class Body>
  void rows(const Body& body, Index count, Index width) {
    if (count <= 0) return;
    const auto threads = static_cast<unsigned>(std::clamp<Index>((width + 31) / 32 * 32, 32, most_threads));
    by_row<<<static_cast<unsigned>(count), threads, 0, stream>>>(body);
    check(cudaGetLastError(), "launch by row");
  }
  template <class Body>
  void blocks(const Body& body, Index count, Index shared_bytes) {
    if (count <= 0) return;
    static int allowed = 48 * 1024;  // a process drives one GPU
    if (shared_bytes > allowed) {
      check(cudaFuncSetAttribute(by_block<Body>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared_bytes)),
            "cudaFuncSetAttribute(shared memory)");
      allowed = static_cast<int>(shared_bytes);
    }
    by_block<<<static_cast<unsigned>(count), block_threads, static_cast<std::size_t>(shared_bytes), stream>>>(body);
    check(cudaGetLastError(), "launch by block");
  }
};

}  // namespace trainwire::cuda
