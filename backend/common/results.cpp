// What is gathered from all ranks at the end of a run.
#include "backend/common/results.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "backend/common/shard.h"

namespace trainwire {
namespace {

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

double checksum(const Ranks& ranks, const Plan& plan, const ReadParameter& read) {
  double sum = 0;
  BufferId last = -1;
  std::span<const float> values;
  for_each_owned_run(plan, ranks.rank(),
                     [&](BufferId b, std::int32_t, std::int64_t local, std::int64_t, std::int64_t count) {
                       if (b != std::exchange(last, b)) values = read(b);
                       for (std::int64_t i = local; i < local + count; ++i) {
                         const auto value = static_cast<double>(values[static_cast<std::size_t>(i)]);
                         sum += value * value;
                       }
                     });
  return ranks.sum({sum})[0];
}

std::vector<std::vector<float>> whole_parameters(const Ranks& ranks, const Plan& plan, const ReadParameter& read) {
  std::vector<float> mine;
  BufferId last = -1;
  std::span<const float> values;
  for_each_owned_run(
      plan, ranks.rank(), [&](BufferId b, std::int32_t, std::int64_t local, std::int64_t, std::int64_t count) {
        if (b != std::exchange(last, b)) values = read(b);
        const auto run = values.subspan(static_cast<std::size_t>(local), static_cast<std::size_t>(count));
        mine.insert(mine.end(), run.begin(), run.end());
      });
  const auto all = ranks.gather(to_bytes(mine));
  if (ranks.rank() != 0) return {};
  std::vector<std::vector<float>> whole;
  for (const ModelParameter& p : plan.parameters) whole.emplace_back(static_cast<std::size_t>(p.shape.elements()));
  for (Rank r = 0; r < ranks.size(); ++r) {
    const std::vector<float> theirs = from_bytes<float>(all[static_cast<std::size_t>(r)]);
    const float* next = theirs.data();
    for_each_owned_run(plan, r,
                       [&](BufferId, std::int32_t parameter, std::int64_t, std::int64_t global, std::int64_t count) {
                         std::copy_n(next, count, whole[static_cast<std::size_t>(parameter)].data() + global);
                         next += count;
                       });
  }
  return whole;
}

}  // namespace

Result gather_results(const Ranks& ranks, const Plan& plan, const RunRecord& record, const ReadParameter& read,
                      const ExecuteOptions& options) {
  const StepTimes times = step_times(ranks, record.measured);
  const std::vector<double> losses = total_loss(ranks, plan, record.losses);
  const double sum = checksum(ranks, plan, read);
  Result result;
  Timeline timeline;
  if (!record.measured.empty()) {
    const std::size_t middle = median(times.seconds);
    timeline.step_time_s = times.seconds[middle];
    gather_spans(ranks, plan, record.measured[middle], times.started_ns[middle], timeline);
  }
  if (options.gather_parameters) result.parameters = whole_parameters(ranks, plan, read);
  ranks.barrier("the end of the run");
  if (ranks.rank() != 0) return {};
  timeline.kind = "executed";
  timeline.executor = record.executor;
  timeline.step_times_s = times.seconds;
  timeline.loss = losses;
  timeline.parameters_checksum = sum;
  result.timeline = std::move(timeline);
  return result;
}

}  // namespace trainwire
