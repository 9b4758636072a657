// Measures one GPU and its way to the host, and writes a machine file for `simulate` in the form of topologies/.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "backend/cuda/device.h"

namespace trainwire::cuda {

struct MeasuredProduct {
  Type type;
  bool tf32;
  std::int64_t M, N, K;
  double seconds;
};

struct GpuMeasurements {
  DeviceFacts facts;
  std::vector<MeasuredProduct> products;
  double copy_bandwidth = 0;                             // bytes/s read and written by a large copy on the device
  double kernel_bandwidth = 0;                           // of adding two large arrays in bf16
  double vector_rate = 0;                                // flop/s of gelu, 14 flops an element
  double launch_s = 0;                                   // a small kernel in a row of many
  double upload_bandwidth = 0, download_bandwidth = 0;   // bytes/s, pageable host memory
  double attention_forward = 0, attention_backward = 0;  // flop/s, causal, bf16, head 128, sequence 4096
};

GpuMeasurements measure_gpu(Device& device, bool quick, const std::function<void(const std::string&)>& say);

// `date`: when. `gpus`: how many alike the host has.
std::string to_yaml(const GpuMeasurements& m, const std::string& date, int gpus);

// Measures the first GPU and writes `file`; throws std::runtime_error or ConfigError.
void calibrate(const std::filesystem::path& file, bool quick, const std::function<void(const std::string&)>& say);

}  // namespace trainwire::cuda
