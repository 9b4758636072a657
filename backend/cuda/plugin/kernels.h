// The kernels' side of the plug-in: three files that nvcc compiles at the same time.
#pragma once
#include <cuda_runtime.h>

#include "backend/cuda/launch.h"

namespace trainwire::cuda {

// Each false for kernels that are not its own. Throws when CUDA refuses the launch.
bool launch_elements(const Launch& launch, cudaStream_t stream);
bool launch_rows(const Launch& launch, cudaStream_t stream);
bool launch_attention(const Launch& launch, cudaStream_t stream);

void check(cudaError_t code, const char* call);  // throws std::runtime_error with CUDA's text

}  // namespace trainwire::cuda
