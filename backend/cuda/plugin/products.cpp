#include "backend/cuda/plugin/products.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "backend/cuda/product.h"

namespace trainwire::cuda {
namespace {

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(fmt::format("{}: {}", call, cublasLtGetStatusString(status)));
}

cudaDataType_t data_type(Type t) {
  return t == Type::bf16 ? CUDA_R_16BF : t == Type::fp16 ? CUDA_R_16F : t == Type::fp64 ? CUDA_R_64F : CUDA_R_32F;
}

// The largest power of two up to 256 that divides the address: what an algorithm may rely on.
std::uint32_t alignment_of(const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  return static_cast<std::uint32_t>(std::min<std::uintptr_t>(address & (~address + 1), 256));
}

cublasLtMatrixLayout_t layout(Type type, std::int64_t rows, std::int64_t columns, std::int64_t ld, std::int32_t batch,
                              std::int64_t stride) {
  cublasLtMatrixLayout_t made = nullptr;
  check(cublasLtMatrixLayoutCreate(&made, data_type(type), static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns), ld),
        "cublasLtMatrixLayoutCreate");
  if (batch > 1) {
    check(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch),
          "cublasLtMatrixLayoutSetAttribute(batch count)");
    check(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
          "cublasLtMatrixLayoutSetAttribute(batch offset)");
  }
  return made;
}

template <class Value>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
}

cublasLtMatmulDesc_t operation_of(const Product& product, const ColumnMajorProduct& p) {
  cublasLtMatmulDesc_t operation = nullptr;
  check(cublasLtMatmulDescCreate(&operation, product.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                 CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  const auto turned = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, turned(p.transpose_a));
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, turned(p.transpose_b));
  if (product.bias != nullptr) {
    set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(product.type));
    set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
  }
  return operation;
}

}  // namespace

Products::Products() { check(cublasLtCreate(&handle_), "cublasLtCreate"); }

Products::~Products() {
  for (auto& [key, p] : prepared_) {
    cublasLtMatrixLayoutDestroy(p.a);
    cublasLtMatrixLayoutDestroy(p.b);
    cublasLtMatrixLayoutDestroy(p.c);
    cublasLtMatmulDescDestroy(p.operation);
  }
  cublasLtDestroy(handle_);
}

const Products::Prepared& Products::prepared(const Product& product, std::size_t workspace_bytes) {
  const ColumnMajorProduct p = column_major(product);
  const std::uint32_t align_a = alignment_of(p.a), align_b = alignment_of(p.b), align_c = alignment_of(product.c);
  const Key key{p.m,
                p.n,
                p.k,
                p.lda,
                p.ldb,
                p.ldc,
                p.stride_a,
                p.stride_b,
                product.stride_c,
                product.batch,
                p.transpose_a,
                p.transpose_b,
                product.bias != nullptr,
                product.accumulate,
                product.tf32,
                static_cast<std::int64_t>(product.type),
                static_cast<std::int64_t>(product.result),
                align_a,
                align_b,
                align_c};
  const auto known = prepared_.find(key);
  if (known != prepared_.end()) return known->second;
  Prepared made;
  made.operation = operation_of(product, p);
  made.a = layout(product.type, p.a_rows(), p.a_columns(), p.lda, product.batch, p.stride_a);
  made.b = layout(product.type, p.b_rows(), p.b_columns(), p.ldb, product.batch, p.stride_b);
  made.c = layout(product.result, p.m, p.n, p.ldc, product.batch, product.stride_c);
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace_bytes));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, align_a);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, align_b);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, align_c);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, align_c);
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_, made.operation, made.a, made.b, made.c, made.c,
                                                               preference, 1, &best, &found);
  cublasLtMatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS || found == 0)
    throw std::runtime_error(fmt::format("cuBLASLt has no algorithm for a product of {} x {} x {}: {}", product.M,
                                         product.N, product.K, cublasLtGetStatusString(status)));
  made.algorithm = best.algo;
  return prepared_.emplace(key, made).first->second;
}

void Products::multiply(const Product& product, void* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  const Prepared& p = prepared(product, workspace_bytes);
  if (product.bias != nullptr) set(p.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias);
  const ColumnMajorProduct turned = column_major(product);
  const float one = 1, beta = product.accumulate ? 1 : 0;
  check(cublasLtMatmul(handle_, p.operation, &one, turned.a, p.a, turned.b, p.b, &beta, product.c, p.c, product.c, p.c,
                       &p.algorithm, workspace, workspace_bytes, stream),
        "cublasLtMatmul");
}

}  // namespace trainwire::cuda
