// A device that is this computer's memory, with streams, events and communicators that behave like a GPU's: work waits
// in queues, and HostWorld runs what is ready in an order that a seed draws. Whatever a plan's streams and events leave
// open is thus tried out, and what they should have forbidden shows as wrong numbers or as a deadlock.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <stdexcept>

#include "backend/cuda/device.h"

namespace trainwire::cuda {

class HostDevice;

// All devices of a run, in one process.
class HostWorld {
 public:
  explicit HostWorld(unsigned seed) : random_(seed) {}
  // Runs everything that was queued; throws std::runtime_error naming what is left when nothing is ready.
  void run();
  // Where true, asking whether an event has ended runs nothing: a device that hangs.
  bool stuck = false;

 private:
  friend class HostDevice;
  struct Posted {
    HostDevice* device;
    StreamId stream;
    std::size_t index;  // in its group
  };
  bool advance();
  bool meet(const Posted& one);

  std::mt19937 random_;
  std::vector<HostDevice*> devices_;
  std::uint64_t ids_ = 0;
};

class HostDevice : public Device {
 public:
  explicit HostDevice(HostWorld& world);
  ~HostDevice() override;

  // For tests of error paths: the call number `n` from now on fails; and what has been called since.
  void fail_call(int n) { fail_at_ = calls_ + n; }
  int calls() const { return calls_; }
  std::set<std::string> names_called() const { return names_; }

  DeviceFacts facts() override;
  void* allocate(std::size_t bytes) override;
  void release(void* memory) override;
  void upload(void* to, const void* from, std::size_t bytes) override;
  void download(void* to, const void* from, std::size_t bytes) override;
  void copy(StreamId stream, void* to, const void* from, std::size_t bytes) override;
  void clear(StreamId stream, void* memory, std::size_t bytes) override;
  StreamId make_stream(bool urgent) override;
  EventId make_event(bool timed) override;
  void record(EventId event, StreamId stream) override;
  void wait(StreamId stream, EventId event) override;
  bool ended(EventId event) override;
  void synchronise() override;
  double seconds_between(EventId first, EventId second) override;
  void launch(StreamId stream, const Launch& launch) override;
  void multiply(StreamId stream, const Product& product, void* workspace, std::size_t bytes) override;
  UniqueId unique_id() override;
  std::vector<CommunicatorId> join(const std::vector<Membership>& groups, double timeout_s) override;
  void open_group() override;
  void close_group() override;
  void communicate(StreamId stream, const Collective& collective) override;
  std::string communication_error() override { return {}; }
  void abort_communicators() override {}
  void open_range(const char*) override {}
  void close_range() override {}

 private:
  friend class HostWorld;
  struct Call {
    Collective collective;
    std::uint64_t number = 0;  // on its communicator: calls run in the order they were made
    bool done = false;
  };
  struct Command {
    std::function<void()> work;  // else one of:
    EventId record = -1, wait = -1;
    std::uint64_t generation = 0;  // of the event
    std::vector<Call> calls;       // all done: the command is
  };
  struct Event {
    std::uint64_t recorded = 0, ended = 0;
    double time = 0;
  };
  struct Communicator {
    UniqueId id{};
    int members = 1, member = 0;
    std::uint64_t made = 0, done = 0;
  };
  void called(const char* name);
  void push(StreamId stream, Command command);

  HostWorld& world_;
  std::vector<std::deque<Command>> streams_;
  std::vector<Event> events_;
  std::vector<Communicator> communicators_;
  std::map<void*, std::vector<double>> memory_;  // double: aligned for everything
  std::vector<std::pair<StreamId, Call>> group_;
  bool grouping_ = false;
  int calls_ = 0, fail_at_ = -1;
  std::set<std::string> names_;
  double clock_ = 0;
};

// The kernels on the host, one thread a team.
void run_on_host(const Launch& launch);
// With teams of several threads that run at once, as on a GPU (for tests; sums in another order).
void run_on_host_threads(const Launch& launch, int threads);
void multiply_on_host(const Product& product);

}  // namespace trainwire::cuda
