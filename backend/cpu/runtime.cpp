#include "backend/cpu/runtime.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "backend/common/shard.h"

namespace trainwire::cpu {
namespace {

// A rank whose computing thread waits polls eagerly for a while; one that computes leaves it the core.
constexpr int eager_polls = 200;
constexpr timespec short_nap{0, 20'000};  // nanoseconds

}  // namespace

RankRun::RankRun(const Scenario& scenario, const Plan& plan, const Ranks& ranks, const Arena& arena)
    : plan_(plan),
      program_(plan.program(ranks.rank())),
      ranks_(ranks),
      pointers_([&] {
        std::vector<void*> pointers;
        for (const BufferId b : program_.operands) pointers.push_back(arena.at(b));
        return pointers;
      }()),
      transfers_(scenario, plan, ranks, pointers_),
      awaited_(program_.ops.size()),
      spans_(program_.ops.size()),
      board_(program_, ranks.rank()) {
  std::vector<std::uint32_t> position(program_.ops.size());
  std::array<std::uint32_t, stream_count> count{};
  for (std::size_t i = 0; i < program_.ops.size(); ++i) {
    const Op& op = program_.ops[i];
    position[i] = count[static_cast<std::size_t>(op.stream)]++;
    if (is_communication(op.kind) == (op.stream == Stream::compute))
      throw std::logic_error(op_name(program_, op) + " is on the wrong stream");
    if (op.stream == Stream::compute) {
      compute_ops_.push_back(static_cast<OpId>(i));
    } else {
      lanes_[static_cast<std::size_t>(op.stream)].ops.push_back(static_cast<OpId>(i));
    }
    first_wait_.push_back(static_cast<std::uint32_t>(waits_.size()));
    for (const OpId d : program_.waits_for(op)) {
      awaited_[static_cast<std::size_t>(d)] = true;
      waits_.push_back({program_.ops[static_cast<std::size_t>(d)].stream, position[static_cast<std::size_t>(d)] + 1});
    }
  }
  first_wait_.push_back(static_cast<std::uint32_t>(waits_.size()));
  context_.coordinate = coordinates_of(plan.mesh, ranks.rank());
  for (std::size_t a = 0; a < axis_count; ++a) context_.degree[a] = plan.mesh.degree(static_cast<Axis>(a));
  context_.replica = replica_of(plan.mesh, context_.coordinate);
  context_.micro_batches = plan.micro_batches;
  context_.parameters = plan.parameters;
  context_.optimizer = scenario.training.optimizer;
  context_.learning_rate = scenario.training.learning_rate;
  context_.gradient_clip = scenario.training.gradient_clip;
  const char* purpose = std::getenv("TRAINWIRE_FAIL");
  if (purpose != nullptr) purpose_ = purpose;
}

void RankRun::step(std::int64_t step_number) {
  context_.step = step_number;
  for (auto& d : done_) d.store(0, std::memory_order_relaxed);
  for (Lane& lane : lanes_) {
    lane.next = 0;
    lane.active = false;
  }
  loss_ = 0;
  if (ranks_.size() == 1) {
    started_ = now_ns();
    compute();
    if (failed_) throw std::runtime_error(fmt::format("rank {}: {}", ranks_.rank(), error_));
    return;
  }
  std::atomic<bool> go{false};
  std::thread worker([&] {
    go.wait(false);
    compute();
  });
  try {
    ranks_.barrier(fmt::format("the start of step {}", step_number));
    started_ = last_progress_ = now_ns();
    go = true;
    go.notify_one();
    communicate();
  } catch (const std::exception& e) { abort_run(ranks_.rank(), e.what()); }
  worker.join();
  if (failed_) abort_run(ranks_.rank(), error_);
}

void RankRun::compute() {
  std::uint32_t finished = 0;
  for (const OpId id : compute_ops_) {
    for (std::uint32_t w = first_wait_[static_cast<std::size_t>(id)]; w < first_wait_[static_cast<std::size_t>(id) + 1];
         ++w)
      wait(waits_[w]);
    try {
      compute_one(id);
    } catch (const std::exception& e) {
      error_ = fmt::format("{}: {}", op_name(program_, program_.ops[static_cast<std::size_t>(id)]), e.what());
      failed_ = true;
      events_.fetch_add(1);
      events_.notify_one();
      return;
    }
    done(Stream::compute).store(++finished, std::memory_order_release);
    if (awaited_[static_cast<std::size_t>(id)]) {
      events_.fetch_add(1);
      events_.notify_one();
    }
  }
}

void RankRun::compute_one(OpId id) {
  const Op& op = program_.ops[static_cast<std::size_t>(id)];
  SpanNs& span = spans_[static_cast<std::size_t>(id)];
  const std::span<void* const> pointers = pointers_;
  const auto outputs = pointers.subspan(op.outputs.first, op.outputs.count);
  board_.note(id);
  span.start = now_ns();
  if (!purpose_.empty()) fail_on_purpose(id);
  run_operation<float>(program_, op, pointers.subspan(op.inputs.first, op.inputs.count), outputs, context_);
  span.end = now_ns();
  if (op.kind == OpKind::cross_entropy && op.role == Role::forward)
    loss_ += static_cast<double>(*static_cast<const float*>(outputs[0]));
}

void RankRun::fail_on_purpose(OpId id) const {
  const std::string here = fmt::format("{}:{}", ranks_.rank(), id);
  if (purpose_ == here) throw std::runtime_error("failed on purpose (TRAINWIRE_FAIL)");
  if (purpose_ == here + ":kill") raise(SIGKILL);
  if (purpose_ == here + ":stop") raise(SIGSTOP);
}

void RankRun::wait(const Wait& w) {
  std::atomic<std::uint32_t>& counter = done(w.stream);
  std::uint32_t seen = counter.load(std::memory_order_acquire);
  if (seen >= w.count) return;
  compute_waits_.store(true, std::memory_order_relaxed);
  for (; seen < w.count; seen = counter.load(std::memory_order_acquire)) counter.wait(seen, std::memory_order_acquire);
  compute_waits_.store(false, std::memory_order_relaxed);
}

bool RankRun::ready(OpId id) const {
  for (std::uint32_t w = first_wait_[static_cast<std::size_t>(id)]; w < first_wait_[static_cast<std::size_t>(id) + 1];
       ++w)
    if (done_[static_cast<std::size_t>(waits_[w].stream)].load(std::memory_order_acquire) < waits_[w].count)
      return false;
  return true;
}

// Moves one stream on; true when something happened.
bool RankRun::advance(Lane& lane) {
  bool moved = false;
  while (lane.next < lane.ops.size()) {
    const OpId id = lane.ops[lane.next];
    const Op& op = program_.ops[static_cast<std::size_t>(id)];
    if (!lane.active) {
      if (!ready(id)) return moved;
      spans_[static_cast<std::size_t>(id)].start = now_ns();
      lane.run.start(transfers_.of(id));
      lane.active = moved = true;
    }
    const bool ended = lane.run.advance();
    moved = moved || lane.run.moved();
    if (!ended) return moved;
    spans_[static_cast<std::size_t>(id)].end = now_ns();
    lane.active = false;
    moved = true;
    ++lane.next;
    done(op.stream).store(static_cast<std::uint32_t>(lane.next), std::memory_order_release);
    if (awaited_[static_cast<std::size_t>(id)]) done(op.stream).notify_one();
  }
  return moved;
}

void RankRun::communicate() {
  for (int idle_polls = 0;;) {
    const std::uint32_t events = events_.load(std::memory_order_acquire);
    if (failed_) return;
    bool moved = false, in_flight = false, unfinished = false;
    for (Lane& lane : lanes_) {
      moved = advance(lane) || moved;
      in_flight = in_flight || lane.active;
      unfinished = unfinished || lane.next < lane.ops.size();
    }
    if (!unfinished) return;
    if (moved) {
      idle_polls = 0;
      last_progress_ = now_ns();
    } else {
      pause(++idle_polls, events, in_flight);
    }
  }
}

void RankRun::pause(int idle_polls, std::uint32_t events_seen, bool in_flight) {
  if (!in_flight) {  // all that is left waits for the computing thread
    events_.wait(events_seen, std::memory_order_acquire);
    last_progress_ = now_ns();
    return;
  }
  if (idle_polls < eager_polls && compute_waits_.load(std::memory_order_relaxed)) {
    sched_yield();
    return;
  }
  nanosleep(&short_nap, nullptr);
  if (idle_polls % 1024 == 0) check_timeout();
}

void RankRun::check_timeout() {
  if (static_cast<double>(now_ns() - last_progress_) * 1e-9 < timeout_s()) return;
  std::string text = fmt::format("no message came or went for {:g} s.", timeout_s());
  for (const Lane& lane : lanes_)
    if (lane.active)
      text += fmt::format(" {} waits for {}.",
                          op_name(program_, program_.ops[static_cast<std::size_t>(lane.ops[lane.next])]),
                          lane.run.waits_for());
  abort_run(ranks_.rank(), text);
}

}  // namespace trainwire::cpu
