// One rank of a plan on a device: memory, streams, events, communicators, and the launches of a step in order.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/common/layout.h"
#include "backend/common/results.h"
#include "backend/common/shard.h"
#include "backend/cuda/groups.h"
#include "backend/cuda/operation.h"

namespace trainwire::cuda {

// What a rank takes of a device's memory, known before anything runs.
struct MemoryNeed {
  std::size_t buffers = 0;   // the plan's, at their peak
  std::size_t scratch = 0;   // of single operations
  std::size_t products = 0;  // cuBLASLt's own scratch
  std::size_t total() const { return buffers + scratch + products; }
};

class DeviceRank {
 public:
  DeviceRank(Device& device, const Scenario& scenario, const Plan& plan, Rank rank);
  ~DeviceRank();
  DeviceRank(const DeviceRank&) = delete;
  DeviceRank& operator=(const DeviceRank&) = delete;

  const MemoryNeed& memory() const { return need_; }
  // Takes the memory; sets parameters and inputs. Throws std::runtime_error when the device has too little.
  void prepare();
  void connect(const std::map<GroupKey, UniqueId>& ids, double timeout_s);
  void load_inputs(std::int64_t step);

  // Queues the whole step and returns. Timed: every operation gets two events.
  void enqueue(std::int64_t step_number, bool timed);
  // Whether everything queued has ended; sees to it that `progress` grows while operations end.
  bool finished(std::uint64_t& progress);
  // "compute: blocks.0.mlp.fc1 linear forward mb 0; data: … with ranks 0, 1": what each stream is at.
  std::string whereabouts() const;

  double loss() const;                                      // of the step: this rank's micro-batches
  std::vector<SpanNs> spans(std::int64_t origin_ns) const;  // timed steps; origin: the clock when the step began
  std::int64_t step_ns() const;                             // first launch to last end, by the device's clock
  std::vector<float> values(BufferId buffer) const;         // of a parameter, as fp32

 private:
  struct Lane {
    StreamId stream = -1;
    std::vector<OpId> ops;
    std::size_t seen = 0;  // operations that have ended, as far as is known
    EventId end = -1;
  };
  void start(const Op& op, OpId id, bool timed);
  void end(const Op& op, OpId id, bool timed);
  void compute(const Op& op);
  void communicate(const Op& op);
  std::optional<std::size_t> partner_in_group(std::size_t index) const;
  Lane& lane(const Op& op) { return lanes_[static_cast<std::size_t>(op.stream)]; }
  char* at(BufferId b) const { return base_ + layout_.offset[static_cast<std::size_t>(b)]; }

  Device& device_;
  const Scenario& scenario_;
  const Plan& plan_;
  const Program& program_;
  Rank rank_;
  Coordinates at_;
  Layout layout_;
  MemoryNeed need_;
  char* base_ = nullptr;
  void* loss_ = nullptr;         // one fp32: the sum over the micro-batches
  std::vector<void*> pointers_;  // by Program::operands
  OperationContext context_;
  Sink sink_;
  std::array<Lane, stream_count> lanes_;
  std::vector<EventId> ended_;         // by OpId; -1: nobody waits for it
  std::vector<EventId> start_, stop_;  // by OpId, timed
  EventId origin_ = -1;
  std::map<GroupKey, CommunicatorId> communicators_;
  std::vector<std::string> names_;
};

}  // namespace trainwire::cuda
