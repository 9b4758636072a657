#include "backend/cuda/kernels/table_rows.h"
#include "backend/cuda/plugin/grid.cuh"

namespace trainwire::cuda {

bool launch_rows(const Launch& launch, cudaStream_t stream) {
  DeviceGrid grid{stream};
  return run_rows(grid, launch);
}

}  // namespace trainwire::cuda
