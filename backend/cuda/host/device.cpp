#include "backend/cuda/host/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/cuda/kernels/types.h"

namespace trainwire::cuda {
namespace {

template <class T>
void combine(void* into, const void* from, std::int64_t count, bool maximum) {
  T* a = static_cast<T*>(into);
  const T* b = static_cast<const T*>(from);
  for (Index i = 0; i < count; ++i) store(a, i, maximum ? larger(load(a, i), load(b, i)) : load(a, i) + load(b, i));
}
void combine(Type type, void* into, const void* from, std::int64_t count, bool maximum) {
  if (type == Type::bf16) return combine<bf16>(into, from, count, maximum);
  if (type == Type::fp16) return combine<fp16>(into, from, count, maximum);
  combine<float>(into, from, count, maximum);
}

const char* advance_by(const void* p, std::int64_t elements, Type type) {
  return static_cast<const char*>(p) + elements * size_of(type);
}

// members in order: what each of them has asked for.
void exchange(const std::vector<const Collective*>& members) {
  const Collective& first = *members[0];
  const std::int64_t count = first.count;
  const auto bytes = static_cast<std::size_t>(count * size_of(first.type));
  const auto n = static_cast<std::int64_t>(members.size());
  const auto part = [&](std::int64_t from, std::int64_t i) {
    return advance_by(members[static_cast<std::size_t>(from)]->in, i * count, first.type);
  };
  std::vector<std::vector<char>> results;
  for (std::int64_t m = 0; m < n; ++m) {  // all results before any is written: members may work in place
    std::vector<char> result;
    const auto append = [&](const char* from) { result.insert(result.end(), from, from + bytes); };
    switch (first.kind) {
      case CollectiveKind::all_reduce:
      case CollectiveKind::reduce_scatter: {
        const std::int64_t at = first.kind == CollectiveKind::all_reduce ? 0 : m;
        append(part(0, at));
        for (std::int64_t from = 1; from < n; ++from)
          combine(first.type, result.data(), part(from, at), count, first.maximum);
        break;
      }
      case CollectiveKind::all_gather:
        for (std::int64_t from = 0; from < n; ++from) append(part(from, 0));
        break;
      case CollectiveKind::all_to_all:
        for (std::int64_t from = 0; from < n; ++from) append(part(from, m));
        break;
      default:
        append(part(first.peer, 0));  // broadcast
    }
    results.push_back(std::move(result));
  }
  for (std::int64_t m = 0; m < n; ++m)
    std::memcpy(members[static_cast<std::size_t>(m)]->out, results[static_cast<std::size_t>(m)].data(),
                results[static_cast<std::size_t>(m)].size());
}

bool is_pair(CollectiveKind k) { return k == CollectiveKind::send || k == CollectiveKind::recv; }

}  // namespace

void HostWorld::run() {
  while (advance()) {}
  std::string left;
  for (std::size_t d = 0; d < devices_.size(); ++d)
    for (std::size_t s = 0; s < devices_[d]->streams_.size(); ++s)
      if (!devices_[d]->streams_[s].empty()) left += fmt::format(" device {} stream {};", d, s);
  if (!left.empty()) throw std::runtime_error("deadlock: work is left on" + left);
}

// Does one thing that is ready, drawn among all; false: nothing is.
bool HostWorld::advance() {
  std::vector<std::pair<HostDevice*, StreamId>> heads;
  for (HostDevice* d : devices_)
    for (std::size_t s = 0; s < d->streams_.size(); ++s)
      if (!d->streams_[s].empty()) heads.emplace_back(d, static_cast<StreamId>(s));
  std::shuffle(heads.begin(), heads.end(), random_);
  for (const auto& [device, stream] : heads) {
    auto& queue = device->streams_[static_cast<std::size_t>(stream)];
    HostDevice::Command& c = queue.front();
    if (!c.calls.empty()) {
      bool met = false;
      for (std::size_t i = 0; i < c.calls.size() && !met; ++i) met = !c.calls[i].done && meet({device, stream, i});
      if (met) return true;
      continue;
    }
    if (c.wait >= 0) {
      if (device->events_[static_cast<std::size_t>(c.wait)].ended < c.generation) continue;
    } else if (c.record >= 0) {
      HostDevice::Event& e = device->events_[static_cast<std::size_t>(c.record)];
      e.ended = c.generation;
      e.time = device->clock_ += 1e-6;
    } else {
      c.work();
    }
    queue.pop_front();
    return true;
  }
  return false;
}

// Tries to complete one call with its partners at the heads of their streams.
bool HostWorld::meet(const Posted& one) {
  const auto call_of = [](const Posted& p) -> HostDevice::Call& {
    return p.device->streams_[static_cast<std::size_t>(p.stream)].front().calls[p.index];
  };
  const auto communicator_of = [&](const Posted& p) -> HostDevice::Communicator& {
    return p.device->communicators_[static_cast<std::size_t>(call_of(p).collective.communicator)];
  };
  const HostDevice::Communicator& mine = communicator_of(one);
  const Collective& wanted = call_of(one).collective;
  const bool pair = is_pair(wanted.kind);
  std::vector<Posted> partners(static_cast<std::size_t>(mine.members), Posted{nullptr, 0, 0});
  for (HostDevice* d : devices_)
    for (std::size_t s = 0; s < d->streams_.size(); ++s) {
      if (d->streams_[s].empty()) continue;
      const auto& calls = d->streams_[s].front().calls;
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const Posted p{d, static_cast<StreamId>(s), i};
        const HostDevice::Communicator& c = communicator_of(p);
        const bool first = calls[i].number == c.done;
        if (c.id == mine.id && !calls[i].done && first) partners[static_cast<std::size_t>(c.member)] = p;
      }
    }
  if (pair) {
    Posted& other = partners[static_cast<std::size_t>(wanted.peer)];
    if (other.device == nullptr || call_of(one).number != mine.done) return false;
    const Collective& theirs = call_of(other).collective;
    const auto send = CollectiveKind::send;
    if (theirs.kind == wanted.kind || theirs.peer != mine.member) return false;
    if (theirs.count != wanted.count || theirs.type != wanted.type)
      throw std::runtime_error("a send and its receive differ in size or type");
    const Collective &from = wanted.kind == send ? wanted : theirs, &to = wanted.kind == send ? theirs : wanted;
    std::memcpy(to.out, from.in, static_cast<std::size_t>(from.count * size_of(from.type)));
    partners = {one, other};
  } else {
    std::vector<const Collective*> all;
    for (const Posted& p : partners) {
      if (p.device == nullptr) return false;
      const Collective& c = call_of(p).collective;
      if (c.kind != wanted.kind || c.count != wanted.count || c.type != wanted.type || c.maximum != wanted.maximum)
        throw std::runtime_error("the members of a group call different collectives, or of different sizes");
      all.push_back(&c);
    }
    exchange(all);
  }
  for (const Posted& p : partners) {
    ++communicator_of(p).done;
    call_of(p).done = true;
  }
  for (const Posted& p : partners) {
    auto& queue = p.device->streams_[static_cast<std::size_t>(p.stream)];
    const auto& calls = queue.front().calls;
    if (std::all_of(calls.begin(), calls.end(), [](const HostDevice::Call& c) { return c.done; })) queue.pop_front();
  }
  return true;
}

HostDevice::HostDevice(HostWorld& world) : world_(world) { world.devices_.push_back(this); }
HostDevice::~HostDevice() { std::erase(world_.devices_, this); }

void HostDevice::called(const char* name) {
  names_.insert(name);
  if (calls_++ == fail_at_) throw std::runtime_error(fmt::format("{}: failed on purpose", name));
}

void HostDevice::push(StreamId stream, Command command) {
  streams_.at(static_cast<std::size_t>(stream)).push_back(std::move(command));
}

DeviceFacts HostDevice::facts() {
  called("facts");
  DeviceFacts f;
  f.name = "host";
  f.bus = fmt::format("host {}", static_cast<const void*>(this));
  f.memory_bytes = f.free_bytes = 64e9;
  f.shared_bytes = 227 * 1024;  // as an H100: kernels that need more would fail there
  f.product_bytes = 256;
  return f;
}

void* HostDevice::allocate(std::size_t bytes) {
  called("allocate");
  std::vector<double> block((bytes + 255) / sizeof(double) + 32);
  void* p = block.data();
  memory_.emplace(p, std::move(block));
  return p;
}
void HostDevice::release(void* memory) { memory_.erase(memory); }
void HostDevice::upload(void* to, const void* from, std::size_t bytes) {
  called("upload");
  std::memcpy(to, from, bytes);
}
void HostDevice::download(void* to, const void* from, std::size_t bytes) {
  called("download");
  std::memcpy(to, from, bytes);
}
void HostDevice::copy(StreamId stream, void* to, const void* from, std::size_t bytes) {
  called("copy");
  Command c;
  c.work = [=] { std::memmove(to, from, bytes); };
  push(stream, std::move(c));
}
void HostDevice::clear(StreamId stream, void* memory, std::size_t bytes) {
  called("clear");
  Command c;
  c.work = [=] { std::memset(memory, 0, bytes); };
  push(stream, std::move(c));
}

StreamId HostDevice::make_stream(bool) {
  called("make_stream");
  streams_.emplace_back();
  return static_cast<StreamId>(streams_.size() - 1);
}
EventId HostDevice::make_event(bool) {
  called("make_event");
  events_.emplace_back();
  return static_cast<EventId>(events_.size() - 1);
}
void HostDevice::record(EventId event, StreamId stream) {
  called("record");
  Command c;
  c.record = event;
  c.generation = ++events_.at(static_cast<std::size_t>(event)).recorded;
  push(stream, std::move(c));
}
void HostDevice::wait(StreamId stream, EventId event) {
  called("wait");
  Command c;
  c.wait = event;
  c.generation = events_.at(static_cast<std::size_t>(event)).recorded;  // as CUDA: the latest record before this call
  push(stream, std::move(c));
}
bool HostDevice::ended(EventId event) {
  called("ended");
  while (!world_.stuck && world_.advance()) {}
  const Event& e = events_.at(static_cast<std::size_t>(event));
  return e.ended == e.recorded;
}
void HostDevice::synchronise() {
  called("synchronise");
  world_.run();
}
double HostDevice::seconds_between(EventId first, EventId second) {
  called("seconds_between");
  return events_.at(static_cast<std::size_t>(second)).time - events_.at(static_cast<std::size_t>(first)).time;
}

void HostDevice::launch(StreamId stream, const Launch& l) {
  called("launch");
  Command c;
  c.work = [l] { run_on_host(l); };
  push(stream, std::move(c));
}
void HostDevice::multiply(StreamId stream, const Product& p, void*, std::size_t) {
  called("multiply");
  Command c;
  c.work = [p] { multiply_on_host(p); };
  push(stream, std::move(c));
}

UniqueId HostDevice::unique_id() {
  called("unique_id");
  UniqueId id{};
  const std::uint64_t number = ++world_.ids_;
  std::memcpy(id.data(), &number, sizeof number);
  return id;
}
std::vector<CommunicatorId> HostDevice::join(const std::vector<Membership>& groups, double) {
  called("join");
  std::vector<CommunicatorId> ids;
  for (const Membership& m : groups) {
    communicators_.push_back({m.id, m.members, m.member, 0, 0});
    ids.push_back(static_cast<CommunicatorId>(communicators_.size() - 1));
  }
  return ids;
}
void HostDevice::open_group() {
  called("open_group");
  grouping_ = true;
}
void HostDevice::close_group() {
  called("close_group");
  grouping_ = false;
  std::map<StreamId, Command> commands;
  for (auto& [stream, call] : group_) commands[stream].calls.push_back(call);
  group_.clear();
  for (auto& [stream, command] : commands) push(stream, std::move(command));
}
void HostDevice::communicate(StreamId stream, const Collective& collective) {
  called("communicate");
  Call call;
  call.collective = collective;
  call.number = communicators_.at(static_cast<std::size_t>(collective.communicator)).made++;
  if (grouping_) {
    group_.emplace_back(stream, call);
    return;
  }
  Command c;
  c.calls.push_back(call);
  push(stream, std::move(c));
}

}  // namespace trainwire::cuda
