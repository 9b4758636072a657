// What a run needs of a GPU, as one small interface. The plug-in (plugin/) implements it with CUDA, cuBLASLt and NCCL;
// HostDevice with plain memory and queues, so that everything above it is proved without a GPU.
// Every call throws std::runtime_error with the call and its own message when it fails. Work on streams returns at
// once.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/launch.h"

namespace trainwire::cuda {

using StreamId = std::int32_t;
using EventId = std::int32_t;
using CommunicatorId = std::int32_t;

struct DeviceFacts {
  std::string name;  // "NVIDIA H200"
  std::string bus;   // "0000:0f:00.0": tells two ranks on one GPU apart from two GPUs
  double memory_bytes = 0, free_bytes = 0;
  int multiprocessors = 1;
  std::size_t shared_bytes = 48 * 1024;  // a block can have at most
  std::size_t product_bytes = 32 << 20;  // scratch memory for products: 32 MiB is what NVIDIA advises for Hopper
  int major = 0, minor = 0;              // compute capability
  std::string versions;                  // "CUDA 13.0, driver 13.0, NCCL 2.28.9"
};

// Row-major C (M,N) = op(A) (M,K) · op(B) (K,N) [+ C where accumulate] [+ bias (N) on each row].
struct Product {
  std::int64_t M = 0, N = 0, K = 0;
  const void *a = nullptr, *b = nullptr;
  void* c = nullptr;
  const void* bias = nullptr;                     // of the type of a; none: null
  std::int64_t lda = 0, ldb = 0, ldc = 0;         // elements from row to row, as stored
  bool transpose_a = false, transpose_b = false;  // A is stored (K,M), B is stored (N,K)
  bool accumulate = false;
  Type type = Type::fp32, result = Type::fp32;  // of a and b; of c
  bool tf32 = false;
  std::int32_t batch = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;  // elements from one product of the batch to the next
};

enum class CollectiveKind : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send, recv };
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  CommunicatorId communicator = -1;
  const void* in = nullptr;
  void* out = nullptr;
  std::int64_t count = 0;  // elements: all_reduce, send, recv, broadcast: of the buffer; all_gather: of a rank's
                           // input; reduce_scatter: of a rank's output; all_to_all: from one rank to one other
  Type type = Type::fp32;
  bool maximum = false;   // instead of the sum
  std::int32_t peer = 0;  // send, recv: member of the communicator; broadcast: the member that has the data
};

using UniqueId = std::array<std::byte, 128>;

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceFacts facts() = 0;

  // Memory is cleared to zero. Copies wait until they are done; nothing else may touch the memory meanwhile.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy(StreamId stream, void* to, const void* from, std::size_t bytes) = 0;
  virtual void clear(StreamId stream, void* memory, std::size_t bytes) = 0;

  virtual StreamId make_stream(bool urgent) = 0;  // urgent: its kernels go first
  virtual EventId make_event(bool timed) = 0;
  virtual void record(EventId event, StreamId stream) = 0;
  virtual void wait(StreamId stream, EventId event) = 0;
  virtual bool ended(EventId event) = 0;
  virtual void synchronise() = 0;
  virtual double seconds_between(EventId first, EventId second) = 0;  // both timed and ended

  virtual void launch(StreamId stream, const Launch& launch) = 0;
  virtual void multiply(StreamId stream, const Product& product, void* workspace, std::size_t workspace_bytes) = 0;

  virtual UniqueId unique_id() = 0;
  // All communicators of a rank at once; groups[i] has ranks_of[i] members, this one is member_of[i].
  struct Membership {
    UniqueId id;
    int members = 1, member = 0;
  };
  virtual std::vector<CommunicatorId> join(const std::vector<Membership>& groups, double timeout_s) = 0;
  // Calls between open_group and close_group start together (a send and a receive that need each other).
  virtual void open_group() = 0;
  virtual void close_group() = 0;
  virtual void communicate(StreamId stream, const Collective& collective) = 0;
  virtual std::string communication_error() = 0;  // asynchronous: empty while all is well
  virtual void abort_communicators() = 0;

  virtual void open_range(const char* name) = 0;  // for profilers
  virtual void close_range() = 0;
};

// What the plug-in exports: extern "C" trainwire::cuda::Device* trainwire_cuda_open(int local_rank), which throws, and
// int trainwire_cuda_version(), equal to this number when plug-in and front end fit each other.
constexpr int plugin_version = 1;

}  // namespace trainwire::cuda
