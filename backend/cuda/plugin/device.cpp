// Device by CUDA.
#include <cuda_runtime.h>
#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <stdexcept>

#include "backend/cuda/device.h"
#include "backend/cuda/plugin/communicators.h"
#include "backend/cuda/plugin/kernels.h"
#include "backend/cuda/plugin/products.h"

namespace trainwire::cuda {

void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess)
    throw std::runtime_error(fmt::format("{}: {} ({})", call, cudaGetErrorString(code), cudaGetErrorName(code)));
}

namespace {

std::string version_text(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

// Makes a GPU the process's own, before the members of CudaDevice that need it are made.
struct Chosen {
  explicit Chosen(int number) : ordinal(number) {
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    if (number >= count)
      throw std::runtime_error(fmt::format(
          "process {} of this host needs a GPU of its own, but there are {} (CUDA_VISIBLE_DEVICES may hide some). "
          "Start at most {} ranks a host",
          number, count, count));
    check(cudaSetDevice(number), "cudaSetDevice");
  }
  int ordinal;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal) : chosen_(ordinal) {}
  ~CudaDevice() override {
    communicators_.abort();  // before the streams that they may still use
    for (const cudaEvent_t e : events_) cudaEventDestroy(e);
    for (const cudaStream_t s : streams_) cudaStreamDestroy(s);
  }

  DeviceFacts facts() override {
    cudaDeviceProp p{};
    check(cudaGetDeviceProperties(&p, chosen_.ordinal), "cudaGetDeviceProperties");
    DeviceFacts f;
    f.name = p.name;
    char bus[32] = "";
    check(cudaDeviceGetPCIBusId(bus, sizeof bus, chosen_.ordinal), "cudaDeviceGetPCIBusId");
    f.bus = bus;
    std::size_t free_bytes = 0, all = 0;
    check(cudaMemGetInfo(&free_bytes, &all), "cudaMemGetInfo");
    f.free_bytes = static_cast<double>(free_bytes);
    f.memory_bytes = static_cast<double>(all);
    f.multiprocessors = p.multiProcessorCount;
    f.shared_bytes = p.sharedMemPerBlockOptin;
    f.major = p.major;
    f.minor = p.minor;
    int runtime = 0, driver = 0, nccl = 0;
    check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    ncclGetVersion(&nccl);
    f.versions = fmt::format("CUDA {}, driver for CUDA {}, NCCL {}.{}.{}", version_text(runtime), version_text(driver),
                             nccl / 10000, nccl / 100 % 100, nccl % 100);
    return f;
  }

  void* allocate(std::size_t bytes) override {
    void* p = nullptr;
    check(cudaMalloc(&p, bytes), "cudaMalloc");
    check(cudaMemset(p, 0, bytes), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return p;
  }
  void release(void* memory) override { check(cudaFree(memory), "cudaFree"); }
  void upload(void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the device");
    // From pageable memory the call may come back before the last piece has arrived, and streams do not wait for it.
    check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
  }
  void copy(StreamId stream, void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, at(stream)), "cudaMemcpyAsync");
  }
  void clear(StreamId stream, void* memory, std::size_t bytes) override {
    check(cudaMemsetAsync(memory, 0, bytes, at(stream)), "cudaMemsetAsync");
  }

  StreamId make_stream(bool urgent) override {
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    cudaStream_t s = nullptr;
    check(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, urgent ? greatest : least),
          "cudaStreamCreateWithPriority");
    streams_.push_back(s);
    return static_cast<StreamId>(streams_.size() - 1);
  }
  EventId make_event(bool timed) override {
    cudaEvent_t e = nullptr;
    check(cudaEventCreateWithFlags(&e, timed ? cudaEventDefault : cudaEventDisableTiming), "cudaEventCreateWithFlags");
    events_.push_back(e);
    return static_cast<EventId>(events_.size() - 1);
  }
  void record(EventId event, StreamId stream) override {
    check(cudaEventRecord(of(event), at(stream)), "cudaEventRecord");
  }
  void wait(StreamId stream, EventId event) override {
    check(cudaStreamWaitEvent(at(stream), of(event), 0), "cudaStreamWaitEvent");
  }
  bool ended(EventId event) override {
    const cudaError_t code = cudaEventQuery(of(event));
    if (code == cudaErrorNotReady) return false;
    check(code, "cudaEventQuery");
    return true;
  }
  void synchronise() override { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }
  double seconds_between(EventId first, EventId second) override {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, of(first), of(second)), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

  void launch(StreamId stream, const Launch& l) override {
    const cudaStream_t s = at(stream);
    if (!launch_elements(l, s) && !launch_rows(l, s) && !launch_attention(l, s))
      throw std::logic_error("a kernel that no table knows");
  }
  void multiply(StreamId stream, const Product& p, void* workspace, std::size_t bytes) override {
    products_.multiply(p, workspace, bytes, at(stream));
  }

  UniqueId unique_id() override { return communicators_.unique_id(); }
  std::vector<CommunicatorId> join(const std::vector<Membership>& groups, double timeout_s) override {
    return communicators_.join(groups, timeout_s);
  }
  void open_group() override { communicators_.open_group(); }
  void close_group() override { communicators_.close_group(); }
  void communicate(StreamId stream, const Collective& c) override { communicators_.call(c, at(stream)); }
  std::string communication_error() override { return communicators_.error(); }
  void abort_communicators() override { communicators_.abort(); }

  void open_range(const char* name) override { nvtxRangePushA(name); }
  void close_range() override { nvtxRangePop(); }

 private:
  cudaStream_t at(StreamId s) const { return streams_.at(static_cast<std::size_t>(s)); }
  cudaEvent_t of(EventId e) const { return events_.at(static_cast<std::size_t>(e)); }

  Chosen chosen_;
  Products products_;
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> events_;
  Communicators communicators_;
};

}  // namespace
}  // namespace trainwire::cuda

extern "C" {

int trainwire_cuda_version() { return trainwire::cuda::plugin_version; }

// Why there is no GPU to use; empty where there is one.
const char* trainwire_cuda_unavailable() {
  static std::string text;
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const auto version = [](int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
  };
  if (driver == 0) {
    text = "the NVIDIA driver is missing or not loaded (libcuda.so.1). Install it; nvidia-smi shows whether it works";
  } else if (code == cudaErrorInsufficientDriver) {
    text = "the NVIDIA driver (for CUDA " + version(driver) + ") is older than this build's CUDA " + version(runtime) +
           ". Update the driver, or build with an older CUDA Toolkit";
  } else if (code != cudaSuccess) {
    text = std::string("CUDA says: ") + cudaGetErrorString(code) + ". nvidia-smi shows the GPUs of this host";
  } else if (count == 0) {
    text = "no GPU is visible. nvidia-smi lists them; CUDA_VISIBLE_DEVICES may hide them";
  } else {
    text.clear();
  }
  return text.c_str();
}

int trainwire_cuda_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

trainwire::cuda::Device* trainwire_cuda_open(int local_rank) { return new trainwire::cuda::CudaDevice(local_rank); }
}
