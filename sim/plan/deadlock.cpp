#include "sim/plan/deadlock.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace trainwire {
namespace {

using Node = std::uint32_t;  // an operation of a program

class Progress {
 public:
  explicit Progress(const Plan& plan) : plan_(plan) {
    first_.push_back(0);
    for (const Program& p : plan.programs) first_.push_back(first_.back() + static_cast<Node>(p.ops.size()));
    waits_.assign(first_.back(), 0);
    meeting_.assign(first_.back(), -1);
    done_.assign(first_.back(), false);
    before_.assign(first_.back(), -1);
    find_successors();
    find_meetings();
  }

  bool finish() {
    for (Node n = 0; n < waits_.size(); ++n)
      if (waits_[n] == 0) ready_.push_back(n);
    std::size_t ended = 0;
    while (!ready_.empty()) {
      const Node n = ready_.back();
      ready_.pop_back();
      if (meeting_[n] < 0) {
        end(n);
        ++ended;
        continue;
      }
      Meeting& m = meetings_[static_cast<std::size_t>(meeting_[n])];
      if (++m.present < m.members.size()) continue;
      for (const Node member : m.members) end(member);
      ended += m.members.size();
    }
    return ended == waits_.size();
  }

  // From an operation that has not ended to one that it waits for, until one comes again.
  std::string cycle() const {
    Node n = 0;
    while (done_[n]) ++n;
    std::vector<Node> path;
    for (; std::find(path.begin(), path.end(), n) == path.end(); n = missing(n)) path.push_back(n);
    path.erase(path.begin(), std::find(path.begin(), path.end(), n));
    std::string text = "deadlock: " + name(n);
    path.push_back(n);
    for (std::size_t i = 0; i + 1 < path.size(); ++i)
      text += fmt::format(" {} {}", waits_[path[i]] > 0 ? "comes after" : "waits for", name(path[i + 1])) +
              (i + 2 < path.size() ? ", which" : "");
    return text;
  }

 private:
  struct Meeting {
    std::vector<Node> members;
    std::size_t present = 0;
  };
  using Key = std::tuple<Axis, std::uint32_t, std::int32_t>;  // axis, tag, program (sender's, or the first member's)

  void find_successors() {
    std::vector<std::uint32_t> count(waits_.size() + 1, 0);
    const auto for_each = [this](const auto& visit) {
      for (std::size_t p = 0; p < plan_.programs.size(); ++p) {
        std::array<std::int64_t, stream_count> newest;
        newest.fill(-1);
        for (std::size_t i = 0; i < plan_.programs[p].ops.size(); ++i) {
          const Op& op = plan_.programs[p].ops[i];
          const Node n = first_[p] + static_cast<Node>(i);
          std::int64_t& last = newest[static_cast<std::size_t>(op.stream)];
          before_[n] = last;
          if (last >= 0) visit(static_cast<Node>(last), n);
          for (const OpId d : plan_.programs[p].waits_for(op))
            if (d >= 0 && static_cast<std::size_t>(d) < i) visit(first_[p] + static_cast<Node>(d), n);
          last = n;
        }
      }
    };
    for_each([&](Node from, Node to) {
      ++count[from + 1];
      ++waits_[to];
    });
    for (std::size_t i = 1; i < count.size(); ++i) count[i] += count[i - 1];
    successors_from_ = count;
    successors_.resize(count.back());
    for_each([&](Node from, Node to) { successors_[count[from]++] = to; });
  }

  void find_meetings() {
    std::map<Key, std::int32_t> known;
    std::set<std::int32_t> seen;
    for (Rank r = 0; r < plan_.mesh.size(); ++r) {
      const auto p = plan_.program_of[static_cast<std::size_t>(r)];
      if (!seen.insert(p).second) continue;
      std::array<std::int32_t, group_count> shared;  // the smallest program of a group of several, -1: all run this one
      for (int a = 0; a < group_count; ++a)
        shared[static_cast<std::size_t>(a)] = other_program(r, static_cast<Axis>(a));
      const Program& program = plan_.programs[static_cast<std::size_t>(p)];
      for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const Op& op = program.ops[i];
        if (!is_communication(op.kind)) continue;
        std::int32_t of = shared[static_cast<std::size_t>(op.axis)];
        if (is_point_to_point(op.kind)) of = op.kind == OpKind::send ? p : peer_program(r, op);
        if (of < 0) continue;
        const auto [place, fresh] = known.try_emplace({op.axis, op.tag, of}, static_cast<int>(meetings_.size()));
        if (fresh) meetings_.emplace_back();
        const Node n = first_[static_cast<std::size_t>(p)] + static_cast<Node>(i);
        meetings_[static_cast<std::size_t>(place->second)].members.push_back(n);
        meeting_[n] = place->second;
      }
    }
  }

  std::int32_t program_of(Rank r) const { return plan_.program_of[static_cast<std::size_t>(r)]; }

  std::int32_t other_program(Rank r, Axis axis) const {
    std::int32_t least = program_of(r);
    bool several = false;
    for (int c = 0; c < plan_.mesh.degree(axis); ++c) {
      const std::int32_t p = program_of(plan_.mesh.neighbour(r, axis, c));
      several = several || p != program_of(r);
      least = std::min(least, p);
    }
    return several ? least : -1;
  }

  std::int32_t peer_program(Rank r, const Op& op) const {
    const int degree = plan_.mesh.degree(op.axis);
    const int there = ((plan_.mesh.coordinate(r, op.axis) + op.peer) % degree + degree) % degree;
    return program_of(plan_.mesh.neighbour(r, op.axis, there));
  }

  void end(Node n) {
    done_[n] = true;
    for (std::uint32_t i = successors_from_[n]; i < successors_from_[n + 1]; ++i)
      if (--waits_[successors_[i]] == 0) ready_.push_back(successors_[i]);
  }

  // Something that an operation which has not ended waits for.
  Node missing(Node n) const {
    if (waits_[n] > 0) {
      if (before_[n] >= 0 && !done_[static_cast<Node>(before_[n])]) return static_cast<Node>(before_[n]);
      const auto [p, i] = place(n);
      for (const OpId d : plan_.programs[p].waits_for(plan_.programs[p].ops[i]))
        if (!done_[first_[p] + static_cast<Node>(d)]) return first_[p] + static_cast<Node>(d);
    }
    const Meeting& m = meetings_[static_cast<std::size_t>(meeting_[n])];
    for (const Node member : m.members)
      if (member != n && waits_[member] > 0) return member;
    return n;  // its partner is nowhere: check_messages names it
  }

  std::pair<std::size_t, std::size_t> place(Node n) const {
    const auto after = std::upper_bound(first_.begin(), first_.end(), n);
    const auto p = static_cast<std::size_t>(after - first_.begin()) - 1;
    return {p, n - first_[p]};
  }

  std::string name(Node n) const {
    const auto [p, i] = place(n);
    return fmt::format("{}, operation {} ({})", plan_.programs[p].role, i,
                       op_name(plan_.programs[p], plan_.programs[p].ops[i]));
  }

  const Plan& plan_;
  std::vector<Node> first_;           // by program
  std::vector<std::uint32_t> waits_;  // by operation: how many must end before
  std::vector<std::int64_t> before_;  // by operation: the one before it on its stream, -1: none
  std::vector<std::uint32_t> successors_from_;
  std::vector<Node> successors_, ready_;
  std::vector<Meeting> meetings_;
  std::vector<std::int32_t> meeting_;  // by operation, -1: waits for nobody
  std::vector<bool> done_;
};

}  // namespace

std::vector<std::string> find_deadlock(const Plan& plan) {
  Progress progress(plan);
  if (progress.finish()) return {};
  return {progress.cycle()};
}

}  // namespace trainwire
