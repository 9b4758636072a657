#include "backend/cuda/load.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

namespace trainwire::cuda {
namespace {

constexpr const char* file_name = "libtrainwire_cuda.so";

// TRAINWIRE_CUDA_PLUGIN, else beside the program, else ../lib from there (an installed trainwire).
std::vector<std::filesystem::path> places() {
  if (const char* given = std::getenv("TRAINWIRE_CUDA_PLUGIN")) return {given};
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  const std::filesystem::path folder =
      length > 0 ? std::filesystem::path(std::string(self, static_cast<std::size_t>(length))).parent_path() : ".";
  return {folder / file_name, folder / ".." / "lib" / file_name};
}

// What a plug-in exports, beside its version (device.h).
struct Plugin {
  void* library = nullptr;
  int (*version)() = nullptr;
  const char* (*unavailable)() = nullptr;
  int (*count)() = nullptr;
  Device* (*open)(int) = nullptr;
  std::string problem;
};

// Whether the driver is there; asked first, because loading the plug-in maps half a gigabyte of cuBLAS.
bool has_driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver != nullptr) dlclose(driver);
  return driver != nullptr;
}

Plugin load() {
  Plugin p;
  std::filesystem::path found;
  std::string tried;
  for (const auto& place : places()) {
    if (std::filesystem::exists(place)) {
      found = place;
      break;
    }
    tried += (tried.empty() ? "" : ", ") + place.lexically_normal().string();
  }
  if (found.empty()) {
    p.problem = no_plugin_message(tried, "");
    return p;
  }
  if (!has_driver()) {
    p.problem =
        no_device_message("the NVIDIA driver is missing (libcuda.so.1). Install it; nvidia-smi shows whether it works");
    return p;
  }
  p.library = dlopen(found.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (p.library == nullptr) {
    p.problem = no_plugin_message(found.string(), dlerror());
    return p;
  }
  p.version = reinterpret_cast<int (*)()>(dlsym(p.library, "trainwire_cuda_version"));
  p.unavailable = reinterpret_cast<const char* (*)()>(dlsym(p.library, "trainwire_cuda_unavailable"));
  p.count = reinterpret_cast<int (*)()>(dlsym(p.library, "trainwire_cuda_count"));
  p.open = reinterpret_cast<Device* (*)(int)>(dlsym(p.library, "trainwire_cuda_open"));
  if (p.version == nullptr || p.unavailable == nullptr || p.count == nullptr || p.open == nullptr ||
      p.version() != plugin_version)
    p.problem = fmt::format("{} is of another version of trainwire. Build both from one checkout", found.string());
  return p;
}

const Plugin& plugin() {
  static const Plugin loaded = load();
  return loaded;
}

}  // namespace

std::string no_plugin_message(const std::string& tried, const std::string& loader_says) {
  if (loader_says.empty())
    return fmt::format(
        "the CUDA part of trainwire is not installed (looked for {}). Configure with -DTRAINWIRE_CUDA=ON where the "
        "CUDA Toolkit (12 or 13) and NCCL are, build, and keep {} beside trainwire or name it in "
        "TRAINWIRE_CUDA_PLUGIN",
        tried, file_name);
  const auto names = [&](const char* library) { return loader_says.find(library) != std::string::npos; };
  std::string missing = "a library it needs is missing";
  if (names("libcuda.so")) missing = "the NVIDIA driver is missing (libcuda.so)";
  if (names("libnccl")) missing = "NCCL is missing (libnccl.so.2)";
  if (names("libcublas")) missing = "cuBLAS of the CUDA Toolkit is missing (libcublasLt)";
  if (names("libcudart")) missing = "the CUDA runtime is missing (libcudart)";
  return fmt::format("{} cannot be loaded: {} ({}). Install it, or add its folder to LD_LIBRARY_PATH", tried, missing,
                     loader_says);
}

std::string no_device_message(const std::string& plugin_says) {
  return fmt::format("no GPU can be used here: {}", plugin_says);
}

std::string why_unavailable() {
  const Plugin& p = plugin();
  if (!p.problem.empty()) return p.problem;
  const std::string text = p.unavailable();
  return text.empty() ? text : no_device_message(text);
}

int device_count() { return why_unavailable().empty() ? plugin().count() : 0; }

std::unique_ptr<Device> open_device(int local_rank) {
  const std::string problem = why_unavailable();
  if (!problem.empty()) throw std::runtime_error(problem);
  return std::unique_ptr<Device>(plugin().open(local_rank));
}

}  // namespace trainwire::cuda
