#include "backend/calibrate/ranks.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "backend/calibrate/small_plan.h"
#include "backend/cpu/runtime.h"

namespace trainwire::cpu {
namespace {

constexpr int wake_tag = 77;
constexpr int chain = 20;  // operations in a row, so that one step is long enough to time

// Runs a plan on the first `ranks` ranks of `world` while the others sleep. Rank 0 gets the timeline.
Timeline run_on_first(MPI_Comm world, int ranks, const SmallRun& run, int steps) {
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(world, rank < ranks ? 0 : 1, rank, &part);
  Timeline timeline;
  if (rank < ranks) {
    ExecuteOptions options;
    options.steps = steps;
    options.warmup = 1;
    timeline = execute_on(ranks == 1 ? MPI_COMM_NULL : part, run.scenario, run.plan, options).timeline;
  }
  if (rank == 0) {
    wake_others(world);
  } else {
    wait_quietly(world);
  }
  MPI_Comm_free(&part);
  return timeline;
}

// A chain in which computing waits for every all-reduce, as in tensor parallelism.
SmallRun all_reduce_chain(int ranks, std::int64_t elements, int length) {
  SmallProgram p(Axis::tensor);
  const BufferId data = p.buffer({elements}), small = p.buffer({16});
  OpId last = -1;
  for (int i = 0; i < length; ++i) {
    const OpId before = last < 0 ? p.compute(OpKind::add, Role::forward, {small, small}, {small})
                                 : p.compute(OpKind::add, Role::forward, {small, small}, {small}, {last});
    last = p.all_reduce(data, {before});
  }
  p.compute(OpKind::add, Role::forward, {small, small}, {small}, {last});
  return small_run(Axis::tensor, ranks, {p.take()});
}

// There and back between two pipeline stages.
SmallRun ping_pong(std::int64_t elements, int length) {
  std::vector<Program> programs;
  for (const int rank : {0, 1}) {
    SmallProgram p(Axis::pipeline);
    const BufferId data = p.buffer({elements}), small = p.buffer({16});
    OpId last = -1;
    for (int i = 0; i < length; ++i) {
      const auto there = static_cast<std::uint32_t>(2 * i), back = there + 1;
      const int peer = rank == 0 ? 1 : -1;
      const auto step = [&](bool sends, std::uint32_t tag) {
        if (!sends) {
          last = p.receive(data, tag, peer);
          return;
        }
        const OpId before = last < 0 ? p.compute(OpKind::add, Role::forward, {small, small}, {small})
                                     : p.compute(OpKind::add, Role::forward, {small, small}, {small}, {last});
        p.send(data, tag, peer, {before});
      };
      step(rank == 0, there);
      step(rank == 1, back);
    }
    p.compute(OpKind::add, Role::forward, {small, small}, {small}, {last});
    programs.push_back(p.take());
  }
  return small_run(Axis::pipeline, 2, std::move(programs));
}

// Work like a small transformer's: a product, an activation, a norm, and memory that the caches do not hold.
void add_work(SmallProgram& p, int times) {
  constexpr std::int64_t rows = 512, width = 192, wide = 768, parameters = 1 << 19;
  const BufferId x = p.buffer({rows, width}), w = p.buffer({width, wide}), y = p.buffer({rows, wide}),
                 z = p.buffer({rows, wide}), g = p.buffer({parameters}), q = p.buffer({parameters});
  for (int i = 0; i < times; ++i) {
    p.compute(OpKind::linear, Role::forward, {x, w}, {y});
    p.compute(OpKind::gelu, Role::forward, {y}, {z});
    p.compute(OpKind::add, Role::forward, {g, q}, {q});
  }
}

SmallRun work(int ranks, int times) {
  SmallProgram p(Axis::data);
  add_work(p, times);
  return small_run(Axis::data, ranks, {p.take()});
}

// The same with all-reduces under way all the time, for which nobody waits.
SmallRun work_and_all_reduce(int ranks, int times, std::int64_t elements, int reductions) {
  SmallProgram p(Axis::data);
  const BufferId data = p.buffer({elements});
  for (int i = 0; i < reductions; ++i) p.all_reduce(data);
  add_work(p, times);
  return small_run(Axis::data, ranks, {p.take()});
}

// Time during which rank 0 computes, of one step.
double computing(const Timeline& t, const Program& program) {
  double first = 1e300, last = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (is_communication(program.ops[i].kind)) continue;
    first = std::min(first, t.ranks[0].spans[i].start_s);
    last = std::max(last, t.ranks[0].spans[i].end_s);
  }
  return last - first;
}

// One rank alone, two at once, and two that communicate as well: in turns, many short ones. The two ratios are those of
// runs next to each other, so that a machine that gets slower meanwhile does not count as a shared core.
struct Sharing {
  std::vector<double> both_over_alone, communicating_over_both;
};
Sharing measure_sharing(MPI_Comm world, bool quick) {
  constexpr int times = 10;
  const SmallRun one = work(1, times), two = work(2, times);
  const SmallRun busy = work_and_all_reduce(2, times, 1 << 17, 4 * times);
  Sharing s;
  for (int round = 0; round < (quick ? 15 : 45); ++round) {
    std::vector<double> seconds;
    for (const auto& [ranks, run] : {std::pair{1, &one}, std::pair{2, &two}, std::pair{2, &busy}}) {
      const Timeline t = run_on_first(world, ranks, *run, 1);
      if (!t.ranks.empty()) seconds.push_back(computing(t, run->plan.program(0)));
    }
    if (seconds.empty()) continue;
    s.both_over_alone.push_back(seconds[1] / seconds[0]);
    s.communicating_over_both.push_back(seconds[2] / seconds[1]);
  }
  return s;
}

Curve by_size(MPI_Comm world, int ranks, const std::vector<std::int64_t>& sizes, int messages_each,
              SmallRun (*make)(std::int64_t, int), Spreads& spreads) {
  Curve curve;
  for (const std::int64_t elements : sizes) {
    const int length = elements > (1 << 16) ? 4 : chain;
    const Timeline t = run_on_first(world, ranks, make(elements, length), 5);
    if (t.step_times_s.empty()) continue;
    const Sample s = median_of(t.step_times_s);
    spreads.add(s);
    curve.x.push_back(4.0 * static_cast<double>(elements));
    curve.y.push_back(s.seconds / length / messages_each);
  }
  return curve;
}

// An all-reduce of two is 2 messages one after the other, and 2·bytes through the memory: t = 2·latency +
// 2·bytes/bandwidth. Least squares of relative errors: sums over (1 - (a + b·x)/y)².
void fit(const Curve& curve, double& latency, double& bandwidth) {
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    const double u = 2 / curve.y[i], v = 2 * curve.x[i] / curve.y[i];
    uu += u * u, uv += u * v, vv += v * v, u1 += u, v1 += v;
  }
  const double determinant = uu * vv - uv * uv;
  latency = std::max((u1 * vv - v1 * uv) / determinant, 1e-7);
  bandwidth = 1 / std::max((v1 * uu - u1 * uv) / determinant, 1e-12);
}

}  // namespace

void wake_others(MPI_Comm world) {
  int ranks = 0;
  MPI_Comm_size(world, &ranks);
  for (int r = 1; r < ranks; ++r) MPI_Send(nullptr, 0, MPI_BYTE, r, wake_tag, world);
}

void wait_quietly(MPI_Comm world) {
  for (int here = 0; here == 0;) {
    MPI_Iprobe(0, wake_tag, world, &here, MPI_STATUS_IGNORE);
    const timespec pause{0, 1'000'000};
    if (here == 0) nanosleep(&pause, nullptr);
  }
  MPI_Recv(nullptr, 0, MPI_BYTE, 0, wake_tag, world, MPI_STATUS_IGNORE);
}

RankMeasurements measure_ranks(MPI_Comm world, bool quick, Spreads& spreads) {
  const std::vector<std::int64_t> sizes =
      quick ? std::vector<std::int64_t>{256, 1 << 14, 1 << 18, 1 << 20}
            : std::vector<std::int64_t>{64, 1 << 10, 1 << 13, 1 << 15, 1 << 17, 1 << 19, 1 << 21};
  RankMeasurements m;
  m.all_reduce = by_size(
      world, 2, sizes, 1, [](std::int64_t n, int l) { return all_reduce_chain(2, n, l); }, spreads);
  m.all_reduce_4 = by_size(
      world, 4, sizes, 1, [](std::int64_t n, int l) { return all_reduce_chain(4, n, l); }, spreads);
  m.message = by_size(world, 2, sizes, 2, ping_pong, spreads);
  Sharing sharing = measure_sharing(world, quick);
  SmallProgram tiny(Axis::data);
  const BufferId small = tiny.buffer({16});
  for (int i = 0; i < 1000; ++i) tiny.compute(OpKind::add, Role::forward, {small, small}, {small});
  const Timeline overhead = run_on_first(world, 1, small_run(Axis::data, 1, {tiny.take()}), 5);
  if (sharing.both_over_alone.empty()) return m;
  fit(m.all_reduce, m.latency, m.bandwidth);
  m.operation_overhead = overhead.step_time_s / 1000;
  m.core_sharing = std::clamp(median_of(sharing.both_over_alone).seconds, 1.0, 2.0);
  m.communication_slowdown =
      std::clamp(1 - 1 / median_of(sharing.communicating_over_both).seconds, 0.0, 0.95);
  return m;
}

}  // namespace trainwire::cpu
