// Says who waits for whom when a plan cannot finish; SimGrid would say nothing.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/engine/run.h"

namespace trainwire {

namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

struct Reporter {
  const Stuck& stuck;

  const Program& program(std::int32_t rank) const {
    return *stuck.network.programs[at(stuck.network.ranks[at(rank)].program)].source;
  }
  bool ended(std::int32_t rank, OpId op) const { return (*stuck.spans[at(rank)])[at(op)].end_s >= 0; }

  std::string name(std::int32_t rank, OpId op) const { return op_name(program(rank), program(rank).ops[at(op)]); }

  // What the rank does instead: the first operation of each stream that has not ended; the given stream first.
  std::string doing(std::int32_t rank, Stream preferred) const {
    OpId first = -1;
    const std::vector<Op>& ops = program(rank).ops;
    for (OpId op = 0; op < static_cast<OpId>(ops.size()); ++op) {
      if (ended(rank, op)) continue;
      if (ops[at(op)].stream == preferred) return "is at " + name(rank, op);
      if (first < 0) first = op;
    }
    return first < 0 ? "has ended its program" : "is at " + name(rank, first);
  }

  std::string meeting(const Meeting& m) const {
    const SimGroup& group = stuck.network.groups[at(m.group)];
    const Instance here = m.present.front();
    const Op& op = program(here.rank).ops[at(here.op)];
    std::vector<std::int32_t> missing = group.members;
    for (const Instance i : m.present)
      if (const auto found = std::find(missing.begin(), missing.end(), i.rank); found != missing.end())
        missing.erase(found);
    const std::int32_t absent = missing.front();
    const Rank rank = stuck.network.ranks[at(absent)].rank;
    return fmt::format("rank {}: {} (tag {}) waits for rank {}{}, which {}", stuck.network.ranks[at(here.rank)].rank,
                       name(here.rank, here.op), m.tag, rank,
                       missing.size() > 1 ? fmt::format(" and {} more", missing.size() - 1) : "",
                       doing(absent, op.stream));
  }

  // Heads of streams that wait for another stream of their rank.
  void dependencies(std::int32_t rank, std::vector<std::string>& lines) const {
    const Program& p = program(rank);
    std::array<bool, stream_count> seen{};
    for (OpId op = 0; op < static_cast<OpId>(p.ops.size()); ++op) {
      bool& stream_seen = seen[static_cast<std::size_t>(p.ops[at(op)].stream)];
      if (ended(rank, op) || stream_seen) continue;
      stream_seen = true;
      for (const OpId d : p.waits_for(p.ops[at(op)])) {
        if (ended(rank, d)) continue;
        lines.push_back(
            fmt::format("rank {}: {} waits for {}", stuck.network.ranks[at(rank)].rank, name(rank, op), name(rank, d)));
        break;
      }
    }
  }
};

}  // namespace

std::string who_waits(const Stuck& stuck) {
  constexpr std::size_t most_lines = 10;
  const Reporter reporter{stuck};
  std::vector<std::string> lines;
  for (const Meeting* m : stuck.open) lines.push_back(reporter.meeting(*m));
  for (std::size_t r = 0; r < stuck.spans.size() && lines.size() < most_lines; ++r)
    reporter.dependencies(static_cast<std::int32_t>(r), lines);
  std::size_t left = 0, all = 0;
  for (const auto* spans : stuck.spans) {
    all += spans->size();
    left += static_cast<std::size_t>(std::count_if(spans->begin(), spans->end(), [](Span s) { return s.end_s < 0; }));
  }
  std::string text = fmt::format("the plan cannot finish: {} of {} operations never ended", left, all);
  const std::size_t shown = std::min(lines.size(), most_lines);
  for (std::size_t i = 0; i < shown; ++i) text += "\n  " + lines[i];
  if (lines.size() > shown) text += fmt::format("\n  and {} more", lines.size() - shown);
  return text;
}

}  // namespace trainwire
