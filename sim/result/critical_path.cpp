// The chain of operations that determined when the step ended, walked backwards from the last one to end.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "sim/result/analysis.h"

namespace trainwire {
namespace {

// An operation of an entry of Timeline::ranks.
struct Place {
  std::int32_t timeline = 0;
  OpId op = 0;
};

// Of one program: the operation before each in its stream (-1: none), and communications by axis and tag.
struct ProgramIndex {
  std::vector<OpId> before;
  std::unordered_map<std::uint64_t, OpId> by_tag;
};

std::uint64_t tag_key(const Op& op) { return (static_cast<std::uint64_t>(op.axis) << 32) | op.tag; }

ProgramIndex index_program(const Program& program) {
  ProgramIndex index;
  index.before.reserve(program.ops.size());
  std::array<OpId, stream_count> last;
  last.fill(-1);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    OpId& previous = last[static_cast<std::size_t>(op.stream)];
    index.before.push_back(previous);
    previous = static_cast<OpId>(i);
    if (is_communication(op.kind)) index.by_tag.emplace(tag_key(op), static_cast<OpId>(i));
  }
  return index;
}

struct Walk {
  const Scenario& scenario;
  const Plan& plan;
  const Timeline& timeline;
  std::map<const Program*, ProgramIndex> indices;
  std::unordered_map<LinkId, const LinkUse*> uses;
  std::map<std::tuple<Rank, Axis, int>, std::string> wirings;  // (rank, axis, peer) -> " on nvlink"

  const RankTimeline& rank(std::int32_t t) const { return timeline.ranks[static_cast<std::size_t>(t)]; }
  const Program& program(std::int32_t t) const { return plan.program(rank(t).rank); }
  const Op& op(Place p) const { return program(p.timeline).ops[static_cast<std::size_t>(p.op)]; }
  Span span(Place p) const { return rank(p.timeline).spans[static_cast<std::size_t>(p.op)]; }
  const ProgramIndex& index(const Program& p) {
    const auto found = indices.find(&p);
    return found != indices.end() ? found->second : indices.emplace(&p, index_program(p)).first->second;
  }
};

// The ranks that take part in a communication.
std::vector<Rank> members(const Plan& plan, Rank rank, const Op& op) {
  if (!is_point_to_point(op.kind)) return plan.mesh.group(rank, op.axis);
  const int degree = plan.mesh.degree(op.axis);
  const int other = (plan.mesh.coordinate(rank, op.axis) + op.peer + degree) % degree;
  return {rank, plan.mesh.neighbour(rank, op.axis, other)};
}

void keep_latest(const Walk& walk, Place candidate, std::optional<Place>& latest) {
  if (!latest || walk.span(candidate).end_s > walk.span(*latest).end_s) latest = candidate;
}

// Adds the operations that `place` itself waits for on its rank.
void consider_own(Walk& walk, Place place, std::optional<Place>& latest) {
  const Program& program = walk.program(place.timeline);
  const OpId before = walk.index(program).before[static_cast<std::size_t>(place.op)];
  if (before >= 0) keep_latest(walk, {place.timeline, before}, latest);
  for (const OpId id : program.waits_for(walk.op(place))) keep_latest(walk, {place.timeline, id}, latest);
}

// The operation whose end let this one start: of its own rank, or of the last member to become ready.
std::optional<Place> predecessor(Walk& walk, Place place) {
  std::optional<Place> latest;
  consider_own(walk, place, latest);
  const Op& op = walk.op(place);
  if (!is_communication(op.kind)) return latest;
  std::vector<std::int32_t> done{place.timeline};  // members of one class are alike
  for (const Rank member : members(walk.plan, walk.rank(place.timeline).rank, op)) {
    if (walk.timeline.timeline_of.empty()) break;
    const auto t = walk.timeline.timeline_of[static_cast<std::size_t>(member)];
    if (std::find(done.begin(), done.end(), t) != done.end()) continue;
    done.push_back(t);
    const auto& by_tag = walk.index(walk.program(t)).by_tag;
    if (const auto same = by_tag.find(tag_key(op)); same != by_tag.end()) consider_own(walk, {t, same->second}, latest);
  }
  return latest;
}

// The class of the link that limits this communication: the most used one on its routes, else the slowest one.
std::string wiring(const Walk& walk, Rank rank, const Op& op) {
  const Topology& topology = walk.scenario.topology;
  const auto& placement = walk.scenario.placement;
  if (!topology.routing || placement.empty()) return "";
  const auto ranks = members(walk.plan, rank, op);
  constexpr std::size_t enough = 64;  // neighbours of a ring repeat themselves in large groups
  double most_used = 0, slowest = std::numeric_limits<double>::infinity();
  std::string used_kind, slow_kind;
  for (std::size_t i = 0; i < std::min(ranks.size(), enough); ++i) {
    const auto from = placement[static_cast<std::size_t>(ranks[i])];
    const auto to = placement[static_cast<std::size_t>(ranks[(i + 1) % ranks.size()])];
    for (const LinkId id : topology.route(from, to).links) {
      const Link& link = topology.links[static_cast<std::size_t>(id)];
      if (link.effective() < slowest) slowest = link.effective(), slow_kind = to_text(link.kind);
      const auto use = walk.uses.find(id);
      if (use == walk.uses.end()) continue;
      const double seconds = use->second->bytes / link.effective();
      if (seconds > most_used) most_used = seconds, used_kind = to_text(link.kind);
    }
  }
  const std::string& kind = used_kind.empty() ? slow_kind : used_kind;
  return kind.empty() ? "" : " on " + kind;
}

std::string describe(Walk& walk, Place place) {
  const Op& op = walk.op(place);
  if (!is_communication(op.kind)) return "compute: " + std::string(to_text(op.kind));
  const Rank rank = walk.rank(place.timeline).rank;
  const std::tuple key{rank, op.axis, static_cast<int>(op.peer)};
  auto found = walk.wirings.find(key);
  if (found == walk.wirings.end()) found = walk.wirings.emplace(key, wiring(walk, rank, op)).first;
  return "communication: " + std::string(to_text(op.axis)) + found->second;
}

std::optional<Place> last_to_end(const Walk& walk) {
  std::optional<Place> last;
  for (std::size_t t = 0; t < walk.timeline.ranks.size(); ++t)
    for (std::size_t i = 0; i < walk.timeline.ranks[t].spans.size(); ++i)
      keep_latest(walk, {static_cast<std::int32_t>(t), static_cast<OpId>(i)}, last);
  return last;
}

}  // namespace

std::vector<BoundBy> critical_path(const Scenario& scenario, const Plan& plan, const Timeline& timeline) {
  if (timeline.step_time_s <= 0) return {};
  Walk walk{scenario, plan, timeline, {}, {}, {}};
  for (const auto& use : timeline.links) walk.uses.emplace(use.link, &use);
  std::map<std::string, double> seconds;
  double cursor = timeline.step_time_s;  // everything after it is explained
  for (auto place = last_to_end(walk); place && cursor > 0; place = predecessor(walk, *place)) {
    const Span span = walk.span(*place);
    const double end = std::clamp(span.end_s, 0.0, cursor);
    const double start = std::clamp(span.start_s, 0.0, end);
    if (cursor > end) seconds["wait"] += cursor - end;
    if (end > start) seconds[describe(walk, *place)] += end - start;
    cursor = start;
  }
  if (cursor > 0) seconds["wait"] += cursor;
  std::vector<BoundBy> result;
  for (const auto& [what, s] : seconds) result.push_back({what, s / timeline.step_time_s});
  std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  return result;
}

}  // namespace trainwire
