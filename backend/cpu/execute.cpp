// Steps, and what is gathered from all ranks at the end.
#include "backend/cpu/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "backend/cpu/data.h"
#include "backend/cpu/runtime.h"
#include "sim/config/problems.h"

namespace trainwire::cpu {
namespace {

struct StepRecord {
  std::vector<SpanNs> spans;
  std::int64_t started = 0;
};

template <class T>
std::vector<std::byte> to_bytes(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> from_bytes(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

std::int64_t last_end(const std::vector<SpanNs>& spans) {
  std::int64_t end = 0;
  for (const SpanNs& s : spans) end = std::max(end, s.end);
  return end;
}

// First start to last end over all ranks, of each step, and the clock at each step's start. The clock counts from the
// host's boot: as double it is exact to a nanosecond for a hundred days.
struct StepTimes {
  std::vector<double> seconds, started_ns;
};
StepTimes step_times(const Ranks& ranks, const std::vector<StepRecord>& records) {
  std::vector<double> starts, ends;
  for (const StepRecord& r : records) {
    starts.push_back(static_cast<double>(r.started));
    ends.push_back(static_cast<double>(last_end(r.spans)));
  }
  StepTimes times;
  times.started_ns = ranks.minimum(std::move(starts));
  ends = ranks.maximum(std::move(ends));
  for (std::size_t i = 0; i < ends.size(); ++i) times.seconds.push_back((ends[i] - times.started_ns[i]) * 1e-9);
  return times;
}

// The step with the median time; of two in the middle the faster one.
std::size_t median(const std::vector<double>& seconds) {
  std::vector<std::size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return seconds[a] < seconds[b]; });
  return order[(order.size() - 1) / 2];
}

// A communication starts when the last of its members is ready. Each rank wrote down when it was ready itself.
void start_with_the_last_member(const Plan& plan, Timeline& timeline) {
  std::map<std::tuple<Axis, std::uint32_t, Rank>, double> ready;  // axis, tag, first rank of the group
  const auto for_each = [&](const auto& visit) {
    for (RankTimeline& r : timeline.ranks) {
      const Program& program = plan.program(r.rank);
      for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const Op& op = program.ops[i];
        if (is_communication(op.kind))
          visit(std::tuple{op.axis, op.tag, plan.mesh.neighbour(r.rank, op.axis, 0)}, r.spans[i]);
      }
    }
  };
  for_each([&](const auto& key, const Span& span) {
    const auto [entry, fresh] = ready.try_emplace(key, span.start_s);
    if (!fresh) entry->second = std::max(entry->second, span.start_s);
  });
  // A small message may be on its way before the receiver is ready: never later than its end.
  for_each([&](const auto& key, Span& span) { span.start_s = std::min(ready.at(key), span.end_s); });
}

void gather_spans(const Ranks& ranks, const Plan& plan, const StepRecord& record, double started_ns,
                  Timeline& timeline) {
  const auto all = ranks.gather(to_bytes(record.spans));
  const auto origin = static_cast<std::int64_t>(started_ns);
  for (std::size_t r = 0; r < all.size(); ++r) {
    RankTimeline rank{static_cast<Rank>(r), {}};
    for (const SpanNs& s : from_bytes<SpanNs>(all[r]))
      rank.spans.push_back({static_cast<double>(s.start - origin) * 1e-9, static_cast<double>(s.end - origin) * 1e-9});
    timeline.ranks.push_back(std::move(rank));
    timeline.timeline_of.push_back(static_cast<std::int32_t>(r));
  }
  start_with_the_last_member(plan, timeline);
}

// Ranks that share a vocabulary all have the same loss: it is counted where the tensor coordinate is 0.
std::vector<double> total_loss(const Ranks& ranks, const Plan& plan, std::vector<double> mine) {
  if (plan.mesh.coordinate(ranks.rank(), Axis::tensor) != 0) std::fill(mine.begin(), mine.end(), 0.0);
  return ranks.sum(std::move(mine));
}

double checksum(const Ranks& ranks, const Plan& plan, const Arena& arena) {
  double sum = 0;
  for (const BufferId b : owned_parameters(plan, ranks.rank())) {
    const float* values = arena.reals(b);
    const std::int64_t n = plan.program(ranks.rank()).tensor(b).shape.elements();
    for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  return ranks.sum({sum})[0];
}

std::vector<std::vector<float>> whole_parameters(const Ranks& ranks, const Plan& plan, const Arena& arena) {
  std::vector<float> mine;
  for (const BufferId b : owned_parameters(plan, ranks.rank())) {
    const float* values = arena.reals(b);
    mine.insert(mine.end(), values, values + plan.program(ranks.rank()).tensor(b).shape.elements());
  }
  const auto all = ranks.gather(to_bytes(mine));
  if (ranks.rank() != 0) return {};
  std::vector<std::vector<float>> whole;
  for (const ModelParameter& p : plan.parameters) whole.emplace_back(static_cast<std::size_t>(p.shape.elements()));
  for (Rank r = 0; r < ranks.size(); ++r) {
    const std::vector<float> values = from_bytes<float>(all[static_cast<std::size_t>(r)]);
    const float* next = values.data();
    for (const BufferId b : owned_parameters(plan, r)) {
      const Tensor& tensor = plan.program(r).tensor(b);
      auto& into = whole[static_cast<std::size_t>(tensor.parameter)];
      for_each_run(tensor, coordinates_of(plan.mesh, r), [&](std::int64_t local, std::int64_t global, std::int64_t n) {
        std::copy_n(next + local, n, into.data() + global);
      });
      next += tensor.shape.elements();
    }
  }
  return whole;
}

}  // namespace

void check_executable(const Scenario& scenario) {
  if (scenario.training.precision == Precision::fp32) return;
  static constexpr std::array<const char*, 5> names{"fp32", "tf32", "fp16", "bf16", "fp8"};
  Problems problems;
  problems.add({Where{scenario.file.string(), 0}, "training.precision",
                names[static_cast<std::size_t>(scenario.training.precision)], "execution on CPUs computes in fp32 only",
                "Add --set training.precision=fp32"});
  problems.throw_if_any();
}

Result execute_on(MPI_Comm comm, const Scenario& scenario, const Plan& plan, const ExecuteOptions& options) {
  const Ranks ranks(comm);
  check_executable(scenario);
  if (plan.mesh.size() != ranks.size())
    throw std::runtime_error(
        fmt::format("the plan is for {} ranks, but {} were started", plan.mesh.size(), ranks.size()));
  const Program& program = plan.program(ranks.rank());
  const Coordinates at = coordinates_of(plan.mesh, ranks.rank());
  const Arena arena(program);
  initial_parameters(plan, program, at, scenario.training.seed, arena);
  RankRun run(scenario, plan, ranks, arena);

  std::vector<StepRecord> measured;
  std::vector<double> losses;
  for (int step = 0; step < options.warmup + options.steps; ++step) {
    input_data(scenario, plan, program, at, step, arena);
    run.step(step + 1);
    losses.push_back(run.loss());
    if (step >= options.warmup) measured.push_back({run.spans(), run.started_ns()});
  }
  const StepTimes times = step_times(ranks, measured);
  losses = total_loss(ranks, plan, std::move(losses));
  const double sum = checksum(ranks, plan, arena);
  Result result;
  Timeline timeline;
  if (!measured.empty()) {
    const std::size_t middle = median(times.seconds);
    timeline.step_time_s = times.seconds[middle];
    gather_spans(ranks, plan, measured[middle], times.started_ns[middle], timeline);
  }
  if (options.gather_parameters) result.parameters = whole_parameters(ranks, plan, arena);
  ranks.barrier("the end of the run");
  if (ranks.rank() != 0) return {};
  timeline.kind = "executed";
  timeline.executor = "cpu";
  timeline.step_times_s = times.seconds;
  timeline.loss = losses;
  timeline.parameters_checksum = sum;
  result.timeline = std::move(timeline);
  return result;
}

Result execute(const Scenario& scenario, const Plan& plan, const ExecuteOptions& options) {
  if (plan.mesh.size() == 1) return execute_on(MPI_COMM_NULL, scenario, plan, options);
  initialise_mpi();
  Result result;
  all_or_none([&] { result = execute_on(MPI_COMM_WORLD, scenario, plan, options); });
  return result;
}

}  // namespace trainwire::cpu
