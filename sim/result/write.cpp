// The files of a run: report.json, timeline.csv, trace.json, links.csv, memory.csv.
#include "sim/result/analysis.h"
#include "sim/result/files.h"
#include "sim/result/trace.h"

namespace trainwire {
namespace {

// Beyond this many rows only one rank of each class of like ranks is written.
constexpr std::size_t all_ranks_up_to = 200'000;

struct RankRows {
  Rank rank;
  const std::vector<Span>* spans;
};

std::vector<RankRows> rows_of(const Plan& plan, const Timeline& timeline) {
  std::size_t rows = 0;
  for (const auto index : timeline.timeline_of) rows += timeline.ranks[static_cast<std::size_t>(index)].spans.size();
  std::vector<RankRows> result;
  if (!timeline.timeline_of.empty() && rows <= all_ranks_up_to)
    for (Rank rank = 0; rank < plan.mesh.size(); ++rank) {
      const auto index = static_cast<std::size_t>(timeline.timeline_of[static_cast<std::size_t>(rank)]);
      result.push_back({rank, &timeline.ranks[index].spans});
    }
  else
    for (const auto& rank : timeline.ranks) result.push_back({rank.rank, &rank.spans});
  return result;
}

void write_timeline(Sink& sink, const Plan& plan, const Timeline& timeline) {
  sink.print("op_id,rank,stream,phase,axis,kind,name,start_s,end_s\n");
  for (const auto& [rank, spans] : rows_of(plan, timeline)) {
    const Program& program = plan.program(rank);
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      const Span span = spans->at(i);
      sink.print("r{}:{},{},{},{},{},{},{},{:.9g},{:.9g}\n", rank, i, rank, to_text(op.stream), phase(op),
                 is_communication(op.kind) ? to_text(op.axis) : std::string_view(), to_text(op.kind),
                 csv_field(op_name(program, op)), span.start_s, span.end_s);
    }
  }
}

void write_links(Sink& sink, const Report& report) {
  sink.print("name,class,bytes,busy_s,utilisation,copies\n");
  for (const auto& link : report.links)
    sink.print("{},{},{:.0f},{:.9g},{:.6g},{}\n", csv_field(link.name), link.kind, link.bytes, link.busy_s,
               link.utilisation, link.copies);
}

void write_memory(Sink& sink, const std::vector<MemoryPoint>& curve) {
  sink.print("stage,time_s,bytes\n");
  for (const auto& point : curve) sink.print("{},{:.9g},{:.0f}\n", point.stage, point.time_s, point.bytes);
}

}  // namespace

Report write_results(const std::filesystem::path& folder, const Scenario& scenario, const Plan& plan,
                     const Timeline& timeline, const Report& report) {
  Report told = report;
  if (rows_of(plan, timeline).size() < static_cast<std::size_t>(plan.mesh.size()))
    told.warnings.push_back(
        fmt::format("timeline.csv and trace.json hold {} of {} ranks: one of each class of ranks "
                    "that behave alike",
                    timeline.ranks.size(), plan.mesh.size()));
  const auto curve = memory_curve(plan, timeline);
  write_files(folder, {
                          {"report.json", [&](Sink& sink) { sink.print("{}", to_json(told)); }},
                          {"timeline.csv", [&](Sink& sink) { write_timeline(sink, plan, timeline); }},
                          {"links.csv", [&](Sink& sink) { write_links(sink, report); }},
                          {"memory.csv", [&](Sink& sink) { write_memory(sink, curve); }},
                          {"trace.json", [&](Sink& sink) { write_trace(sink, scenario, plan, timeline, curve); }},
                      });
  return told;
}

}  // namespace trainwire
