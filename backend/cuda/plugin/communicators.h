// The NCCL communicators of one process. All are non-blocking: a call that does not get on ends in an error here.
#pragma once
#include <cuda_runtime.h>
#include <nccl.h>

#include <string>
#include <vector>

#include "backend/cuda/device.h"

namespace trainwire::cuda {

class Communicators {
 public:
  ~Communicators();
  UniqueId unique_id();
  std::vector<CommunicatorId> join(const std::vector<Device::Membership>& groups, double timeout_s);
  void open_group();
  void close_group();
  void call(const Collective& collective, cudaStream_t stream);
  std::string error();
  void abort();

 private:
  void settle(ncclComm_t comm, const char* call);
  void after(ncclResult_t result, ncclComm_t comm, const char* call);
  void all_to_all(const Collective& c, ncclComm_t comm, cudaStream_t stream);

  std::vector<ncclComm_t> comms_;
  std::vector<int> members_;
  std::vector<ncclComm_t> in_group_;
  bool grouping_ = false;
  double timeout_s_ = 60;
};

}  // namespace trainwire::cuda
