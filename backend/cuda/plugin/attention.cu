#include "backend/cuda/kernels/table_attention.h"
#include "backend/cuda/plugin/grid.cuh"

namespace trainwire::cuda {

bool launch_attention(const Launch& launch, cudaStream_t stream) {
  DeviceGrid grid{stream};
  return run_attention(grid, launch);
}

}  // namespace trainwire::cuda
