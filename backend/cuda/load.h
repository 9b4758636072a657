// Finding the plug-in and the GPU at run time, and saying what is missing.
#pragma once
#include <memory>
#include <string>

#include "backend/cuda/device.h"

namespace trainwire::cuda {

// Why there is no GPU to run on, in one line with what to do; empty: there is one. Loads the plug-in, opens no GPU.
std::string why_unavailable();

int device_count();  // GPUs of this host; 0 where there is none to use

// The GPU with this number on this host. Throws std::runtime_error.
std::unique_ptr<Device> open_device(int local_rank);

// What may stand in the way, as messages (tests go through them).
std::string no_plugin_message(const std::string& tried, const std::string& loader_says);
std::string no_device_message(const std::string& plugin_says);

}  // namespace trainwire::cuda
