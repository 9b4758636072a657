#include "backend/cuda/kernels/table_elements.h"
#include "backend/cuda/plugin/grid.cuh"

namespace trainwire::cuda {

bool launch_elements(const Launch& launch, cudaStream_t stream) {
  DeviceGrid grid{stream};
  return run_elements(grid, launch);
}

}  // namespace trainwire::cuda
