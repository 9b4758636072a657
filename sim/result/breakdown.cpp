// Where the time of a step goes, seen from each rank's compute stream.
#include <algorithm>
#include <array>

#include "sim/result/analysis.h"
#include "sim/result/intervals.h"

namespace trainwire {
namespace {

// When communications of several axes are under way at once, the innermost one counts: it is the one that blocks most.
constexpr std::array<Axis, group_count> priority{Axis::tensor,  Axis::context,         Axis::expert,   Axis::data,
                                                 Axis::replica, Axis::expert_gradient, Axis::gradient, Axis::pipeline};

bool is_mesh_axis(Axis a) { return static_cast<int>(a) < axis_count; }

// The latest end of a pipeline receive that `op` waited for, directly or through operations that ended after
// `idle_from`; negative: none.
double waited_for_receive(const Program& program, const std::vector<Span>& spans, OpId op, double idle_from) {
  double latest = -1;
  std::vector<OpId> pending{op};
  std::vector<OpId> seen;
  while (!pending.empty()) {
    const auto& waiting = program.ops[static_cast<std::size_t>(pending.back())];
    pending.pop_back();
    for (const OpId id : program.waits_for(waiting)) {
      const auto& before = program.ops[static_cast<std::size_t>(id)];
      const double end = spans[static_cast<std::size_t>(id)].end_s;
      if (end <= idle_from || std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
      seen.push_back(id);
      if (before.kind == OpKind::recv && before.axis == Axis::pipeline)
        latest = std::max(latest, end);
      else
        pending.push_back(id);
    }
  }
  return latest;
}

// Idle time that the rank spends waiting for another stage: before an operation that waits for a receive, and after
// the last one.
Intervals pipeline_waits(const Program& program, const std::vector<Span>& spans, double step_s) {
  Intervals waits;
  double idle_from = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (program.ops[i].stream != Stream::compute) continue;
    if (spans[i].start_s > idle_from) {
      const double until = waited_for_receive(program, spans, static_cast<OpId>(i), idle_from);
      waits.push_back({idle_from, std::min(until, spans[i].start_s)});
    }
    idle_from = std::max(idle_from, spans[i].end_s);
  }
  waits.push_back({idle_from, step_s});
  return merged(std::move(waits), step_s);
}

Breakdown breakdown_of_rank(const Plan& plan, const RankTimeline& rank, double step_s) {
  const Program& program = plan.program(rank.rank);
  Intervals compute;
  std::array<Intervals, group_count> communication;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    const Interval span{rank.spans[i].start_s, rank.spans[i].end_s};
    if (op.stream == Stream::compute) compute.push_back(span);
    if (is_communication(op.kind)) communication[static_cast<std::size_t>(op.axis)].push_back(span);
  }
  compute = merged(std::move(compute), step_s);
  Breakdown result;
  result.compute_s = length(compute);
  Intervals idle = complement(compute, step_s);
  for (const Axis axis : priority) {
    if (plan.mesh.degree(axis) == 1) continue;
    if (!is_mesh_axis(axis) && communication[static_cast<std::size_t>(axis)].empty()) continue;
    const Intervals under_way = merged(std::move(communication[static_cast<std::size_t>(axis)]), step_s);
    result.exposed_s[std::string(to_text(axis))] = length(intersection(idle, under_way));
    idle = intersection(idle, complement(under_way, step_s));
  }
  if (plan.mesh.degree(Axis::pipeline) > 1)
    result.bubble_s = length(intersection(idle, pipeline_waits(program, rank.spans, step_s)));
  return result;
}

}  // namespace

std::vector<std::int64_t> ranks_per_timeline(const Timeline& timeline) {
  if (timeline.timeline_of.empty()) return std::vector<std::int64_t>(timeline.ranks.size(), 1);
  std::vector<std::int64_t> counts(timeline.ranks.size(), 0);
  for (const auto index : timeline.timeline_of) ++counts[static_cast<std::size_t>(index)];
  return counts;
}

Breakdown breakdown(const Plan& plan, const Timeline& timeline) {
  const auto counts = ranks_per_timeline(timeline);
  double world = 0;
  for (const auto count : counts) world += static_cast<double>(count);
  Breakdown mean;
  double known = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double weight = static_cast<double>(counts[i]) / world;
    const Breakdown one = breakdown_of_rank(plan, timeline.ranks[i], timeline.step_time_s);
    mean.compute_s += weight * one.compute_s;
    mean.bubble_s += weight * one.bubble_s;
    for (const auto& [axis, seconds] : one.exposed_s) mean.exposed_s[axis] += weight * seconds;
  }
  known = mean.compute_s + mean.bubble_s;
  for (const auto& [axis, seconds] : mean.exposed_s) known += seconds;
  mean.other_s = std::max(0.0, timeline.step_time_s - known);
  return mean;
}

}  // namespace trainwire
