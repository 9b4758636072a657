// Trace Event Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU (Google, 2016).
#include "sim/result/trace.h"

#include <algorithm>
#include <array>
#include <set>

namespace trainwire {
namespace {

// A viewer becomes slow beyond some hundred thousand events; then the ranks shown are spread evenly over all.
constexpr std::size_t most_events = 300'000;

std::vector<const RankTimeline*> ranks_shown(const Timeline& timeline) {
  std::size_t largest = 1;
  for (const auto& rank : timeline.ranks) largest = std::max(largest, rank.spans.size());
  const std::size_t all = timeline.ranks.size();
  const std::size_t shown = std::min(all, std::max<std::size_t>(1, most_events / largest));
  std::vector<const RankTimeline*> result;
  for (std::size_t i = 0; i < shown; ++i)
    result.push_back(&timeline.ranks[shown == 1 ? 0 : i * (all - 1) / (shown - 1)]);
  return result;
}

// Perfetto's own palette, by what the operation is for.
std::string_view colour(const Op& op) {
  if (is_communication(op.kind)) return "thread_state_iowait";
  switch (op.role) {
    case Role::forward:
      return "thread_state_running";
    case Role::update:
      return "rail_response";
    default:
      return "thread_state_runnable";
  }
}

void write_names(Sink& sink, const Program& program, Rank rank, std::size_t order) {
  if (order > 0) sink.print(",\n");
  sink.print(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", rank,
             json_string(fmt::format("rank {} ({})", rank, program.role)));
  sink.print(
      ",\n"
      R"({{"ph":"M","pid":{},"name":"process_sort_index","args":{{"sort_index":{}}}}})",
      rank, order);
  std::array<bool, stream_count> used{};
  for (const auto& op : program.ops) used[static_cast<std::size_t>(op.stream)] = true;
  for (std::size_t s = 0; s < used.size(); ++s) {
    if (!used[s]) continue;
    sink.print(
        ",\n"
        R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})",
        rank, s, to_text(static_cast<Stream>(s)));
    sink.print(
        ",\n"
        R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
        rank, s, s);
  }
}

void write_operation(Sink& sink, const Program& program, const RankTimeline& rank, std::size_t i) {
  const Op& op = program.ops[i];
  const Span span = rank.spans[i];
  constexpr double us = 1e6;
  sink.print(
      ",\n"
      R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"name":{},"cat":"{}","cname":"{}",)"
      R"("args":{{"op_id":"r{}:{}")",
      rank.rank, static_cast<int>(op.stream), span.start_s * us, (span.end_s - span.start_s) * us,
      json_string(op_name(program, op)), phase(op), colour(op), rank.rank, i);
  if (op.micro_batch >= 0) sink.print(R"(,"micro_batch":{})", op.micro_batch);
  if (is_communication(op.kind))
    sink.print(R"(,"axis":"{}","bytes":{:.0f})", to_text(op.axis), program.communication_bytes(op));
  sink.print("}}}}");
}

}  // namespace

void write_trace(Sink& sink, const Scenario& scenario, const Plan& plan, const Timeline& timeline,
                 const std::vector<MemoryPoint>& memory) {
  const auto ranks = ranks_shown(timeline);
  sink.print(R"({{"displayTimeUnit":"ms","otherData":{{"scenario":{},"kind":"{}","executor":"{}"}},"traceEvents":[)"
             "\n",
             json_string(scenario.name), timeline.kind, timeline.executor);
  std::set<int> stages;  // memory is shown at the first rank of a stage
  for (std::size_t order = 0; order < ranks.size(); ++order) {
    const RankTimeline& rank = *ranks[order];
    const Program& program = plan.program(rank.rank);
    write_names(sink, program, rank.rank, order);
    for (std::size_t i = 0; i < program.ops.size(); ++i) write_operation(sink, program, rank, i);
    if (!stages.insert(program.stage).second) continue;
    for (const auto& point : memory)
      if (point.stage == program.stage)
        sink.print(
            ",\n"
            R"({{"ph":"C","pid":{},"ts":{:.3f},"name":"memory","args":{{"bytes":{:.0f}}}}})",
            rank.rank, point.time_s * 1e6, point.bytes);
  }
  sink.print("\n]}}\n");
}

}  // namespace trainwire
