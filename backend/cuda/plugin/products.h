// Matrix products by cuBLASLt, with the algorithm of its heuristics, asked once a shape.
#pragma once
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <map>
#include <vector>

#include "backend/cuda/device.h"

namespace trainwire::cuda {

class Products {
 public:
  Products();
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;
  void multiply(const Product& product, void* workspace, std::size_t workspace_bytes, cudaStream_t stream);

 private:
  struct Prepared {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
  };
  using Key = std::vector<std::int64_t>;
  const Prepared& prepared(const Product& product, std::size_t workspace_bytes);

  cublasLtHandle_t handle_ = nullptr;
  std::map<Key, Prepared> prepared_;
};

}  // namespace trainwire::cuda
