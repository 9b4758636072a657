#include "backend/cuda/plugin/communicators.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace trainwire::cuda {
namespace {

static_assert(sizeof(UniqueId) == NCCL_UNIQUE_ID_BYTES);

[[noreturn]] void fail(ncclResult_t result, ncclComm_t comm, const char* call) {
  const char* detail = ncclGetLastError(comm);
  throw std::runtime_error(fmt::format("{}: {}{}{}", call, ncclGetErrorString(result),
                                       detail != nullptr && *detail != 0 ? ": " : "", detail != nullptr ? detail : ""));
}

ncclDataType_t data_type(Type t) {
  switch (t) {
    case Type::bf16:
      return ncclBfloat16;
    case Type::fp16:
      return ncclFloat16;
    case Type::fp64:
      return ncclFloat64;
    case Type::int32:
      return ncclInt32;
    default:
      return ncclFloat32;
  }
}

}  // namespace

Communicators::~Communicators() {
  // ncclCommFinalize would wait for partners that may have gone; whoever comes here has synchronised before.
  for (const ncclComm_t comm : comms_) ncclCommAbort(comm);
}

UniqueId Communicators::unique_id() {
  ncclUniqueId id;
  const ncclResult_t result = ncclGetUniqueId(&id);
  if (result != ncclSuccess) fail(result, nullptr, "ncclGetUniqueId");
  UniqueId bytes;
  std::memcpy(bytes.data(), &id, sizeof id);
  return bytes;
}

// Until the communicator's last call has been taken up; ncclInProgress for too long is an error of its own.
void Communicators::settle(ncclComm_t comm, const char* call) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(comm, &state);
    if (asked != ncclSuccess) fail(asked, comm, "ncclCommGetAsyncError");
    if (state == ncclSuccess) return;
    if (state != ncclInProgress) fail(state, comm, call);
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > timeout_s_)
      throw std::runtime_error(fmt::format("{}: not every rank of the group came within {:g} s", call, timeout_s_));
    std::this_thread::yield();
  }
}

void Communicators::after(ncclResult_t result, ncclComm_t comm, const char* call) {
  if (result != ncclSuccess && result != ncclInProgress) fail(result, comm, call);
  if (grouping_)
    in_group_.push_back(comm);
  else
    settle(comm, call);
}

std::vector<CommunicatorId> Communicators::join(const std::vector<Device::Membership>& groups, double timeout_s) {
  timeout_s_ = timeout_s;
  const std::size_t before = comms_.size();
  comms_.resize(before + groups.size(), nullptr);
  ncclResult_t result = ncclGroupStart();
  if (result != ncclSuccess) fail(result, nullptr, "ncclGroupStart");
  for (std::size_t i = 0; i < groups.size(); ++i) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclUniqueId id;
    std::memcpy(&id, groups[i].id.data(), sizeof id);
    result = ncclCommInitRankConfig(&comms_[before + i], groups[i].members, id, groups[i].member, &config);
    if (result != ncclSuccess && result != ncclInProgress) fail(result, nullptr, "ncclCommInitRankConfig");
    members_.push_back(groups[i].members);
  }
  result = ncclGroupEnd();
  if (result != ncclSuccess && result != ncclInProgress)
    fail(result, nullptr, "ncclGroupEnd of ncclCommInitRankConfig");
  std::vector<CommunicatorId> ids;
  for (std::size_t i = before; i < comms_.size(); ++i) {
    settle(comms_[i], "ncclCommInitRankConfig");
    ids.push_back(static_cast<CommunicatorId>(i));
  }
  return ids;
}

void Communicators::open_group() {
  const ncclResult_t result = ncclGroupStart();
  if (result != ncclSuccess) fail(result, nullptr, "ncclGroupStart");
  grouping_ = true;
}

void Communicators::close_group() {
  grouping_ = false;
  const ncclResult_t result = ncclGroupEnd();
  if (result != ncclSuccess && result != ncclInProgress) fail(result, nullptr, "ncclGroupEnd");
  for (const ncclComm_t comm : in_group_) settle(comm, "ncclGroupEnd");
  in_group_.clear();
}

void Communicators::call(const Collective& c, cudaStream_t stream) {
  const ncclComm_t comm = comms_.at(static_cast<std::size_t>(c.communicator));
  const auto count = static_cast<std::size_t>(c.count);
  const ncclDataType_t type = data_type(c.type);
  const ncclRedOp_t op = c.maximum ? ncclMax : ncclSum;
  switch (c.kind) {
    case CollectiveKind::all_reduce:
      return after(ncclAllReduce(c.in, c.out, count, type, op, comm, stream), comm, "ncclAllReduce");
    case CollectiveKind::all_gather:
      return after(ncclAllGather(c.in, c.out, count, type, comm, stream), comm, "ncclAllGather");
    case CollectiveKind::reduce_scatter:
      return after(ncclReduceScatter(c.in, c.out, count, type, op, comm, stream), comm, "ncclReduceScatter");
    case CollectiveKind::broadcast:
      return after(ncclBroadcast(c.in, c.out, count, type, c.peer, comm, stream), comm, "ncclBroadcast");
    case CollectiveKind::all_to_all:
      return all_to_all(c, comm, stream);
    case CollectiveKind::send:
      return after(ncclSend(c.in, count, type, c.peer, comm, stream), comm, "ncclSend");
    case CollectiveKind::recv:
      return after(ncclRecv(c.out, count, type, c.peer, comm, stream), comm, "ncclRecv");
  }
}

// NCCL has ncclAlltoAll since 2.28 only.
void Communicators::all_to_all(const Collective& c, ncclComm_t comm, cudaStream_t stream) {
  const bool alone = !grouping_;
  if (alone) open_group();
  const std::int64_t bytes = c.count * size_of(c.type);
  for (int peer = 0; peer < members_.at(static_cast<std::size_t>(c.communicator)); ++peer) {
    const auto count = static_cast<std::size_t>(c.count);
    after(ncclSend(static_cast<const char*>(c.in) + peer * bytes, count, data_type(c.type), peer, comm, stream), comm,
          "ncclSend of an all-to-all");
    after(ncclRecv(static_cast<char*>(c.out) + peer * bytes, count, data_type(c.type), peer, comm, stream), comm,
          "ncclRecv of an all-to-all");
  }
  if (alone) close_group();
}

std::string Communicators::error() {
  for (const ncclComm_t comm : comms_) {
    ncclResult_t state = ncclSuccess;
    if (ncclCommGetAsyncError(comm, &state) != ncclSuccess || (state != ncclSuccess && state != ncclInProgress))
      return fmt::format("NCCL: {}: {}", ncclGetErrorString(state), ncclGetLastError(comm));
  }
  return {};
}

void Communicators::abort() {
  for (const ncclComm_t comm : comms_) ncclCommAbort(comm);
  comms_.clear();
}

}  // namespace trainwire::cuda
