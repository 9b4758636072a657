// The laws that every plan keeps; the builder checks them after its last pass, the tests plant violations.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include "sim/plan/deadlock.h"

namespace trainwire {
namespace {

using Violations = std::vector<std::string>;
constexpr std::size_t enough = 20;  // a broken pass repeats itself

std::string place(const Program& p, std::size_t op) {
  return fmt::format("{}, operation {} ({})", p.role, op, op_name(p, p.ops[op]));
}

// The buffer that holds each buffer's memory: itself, or the one it is a view of.
std::vector<std::size_t> roots(const Program& p) {
  std::map<std::pair<TensorId, std::int32_t>, std::size_t> whole;
  for (std::size_t b = 0; b < p.buffers.size(); ++b) whole[{p.buffers[b].tensor, p.buffers[b].micro_batch}] = b;
  std::vector<std::size_t> root(p.buffers.size());
  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    const TensorId of = p.tensor(static_cast<BufferId>(b)).view_of;
    root[b] = of < 0 ? b : whole.at({of, p.buffers[b].micro_batch});
  }
  return root;
}

// Parameters that are not gathered, optimizer states and inputs exist before the step; all else must be written first.
void check_operands(const Program& p, const std::vector<std::size_t>& root, Violations& out) {
  std::vector<bool> written(p.buffers.size(), false);
  const auto exists_before = [](const Tensor& t) {
    return (t.category == Category::parameter && !t.gathered) || t.category == Category::optimizer ||
           t.category == Category::input;
  };
  for (std::size_t i = 0; i < p.ops.size() && out.size() < enough; ++i) {
    const Op& op = p.ops[i];
    for (const BufferId b : p.inputs(op))
      if (!written[static_cast<std::size_t>(b)] && !written[root[static_cast<std::size_t>(b)]] &&
          !exists_before(p.tensor(b)))
        out.push_back(fmt::format("{}: reads {} before it is written", place(p, i), p.tensor(b).name));
    for (const BufferId b : p.outputs(op)) {
      written[static_cast<std::size_t>(b)] = true;
      written[root[static_cast<std::size_t>(b)]] = true;
    }
  }
}

void check_dependencies(const Program& p, Violations& out) {
  for (std::size_t i = 0; i < p.ops.size() && out.size() < enough; ++i)
    for (const OpId d : p.waits_for(p.ops[i])) {
      if (d < 0 || static_cast<std::size_t>(d) >= i)
        out.push_back(fmt::format("{}: waits for operation {}, which does not come before it", place(p, i), d));
      else if (p.ops[static_cast<std::size_t>(d)].stream == p.ops[i].stream)
        out.push_back(fmt::format("{}: names operation {} of its own stream as dependency", place(p, i), d));
    }
}

// Every pair of operations on one buffer, at least one of them writing, is ordered by a stream or a dependency chain.
// Checked through vector clocks: the newest operation of every stream that is known to have ended.
void check_hazards(const Program& p, const std::vector<std::size_t>& root, Violations& out) {
  using Clock = std::array<OpId, stream_count>;
  Clock none;
  none.fill(-1);
  std::vector<Clock> known(p.ops.size(), none), last_write(p.buffers.size(), none), last_read(p.buffers.size(), none);
  Clock newest = none;
  const auto join = [&](Clock& into, OpId op) {
    const Clock& other = known[static_cast<std::size_t>(op)];
    for (std::size_t s = 0; s < stream_count; ++s) into[s] = std::max(into[s], other[s]);
  };
  const auto check = [&](std::size_t i, const Clock& before, BufferId b, std::string_view what) {
    for (std::size_t s = 0; s < stream_count; ++s)
      if (before[s] >= 0 && before[s] < static_cast<OpId>(i) && known[i][s] < before[s])
        out.push_back(
            fmt::format("{}: may run before operation {} has {} {}", place(p, i), before[s], what, p.tensor(b).name));
  };
  for (std::size_t i = 0; i < p.ops.size() && out.size() < enough; ++i) {
    const Op& op = p.ops[i];
    const auto stream = static_cast<std::size_t>(op.stream);
    if (newest[stream] >= 0) join(known[i], newest[stream]);
    for (const OpId d : p.waits_for(op))
      if (d >= 0 && static_cast<std::size_t>(d) < i) join(known[i], d);
    for (const BufferId b : p.inputs(op)) check(i, last_write[root[static_cast<std::size_t>(b)]], b, "written");
    for (const BufferId b : p.outputs(op)) {
      check(i, last_write[root[static_cast<std::size_t>(b)]], b, "written");
      check(i, last_read[root[static_cast<std::size_t>(b)]], b, "read");
    }
    for (const BufferId b : p.inputs(op)) last_read[root[static_cast<std::size_t>(b)]][stream] = static_cast<OpId>(i);
    for (const BufferId b : p.outputs(op)) last_write[root[static_cast<std::size_t>(b)]][stream] = static_cast<OpId>(i);
    known[i][stream] = static_cast<OpId>(i);
    newest[stream] = static_cast<OpId>(i);
  }
}

struct Message {
  OpKind kind;
  std::uint32_t tag;
  double bytes;
  Reduction reduction;
  OpId op;
  bool operator==(const Message& o) const {
    return kind == o.kind && tag == o.tag && bytes == o.bytes && reduction == o.reduction;
  }
};

std::vector<Message> collectives(const Program& p, Axis axis) {
  std::vector<Message> found;
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    const Op& op = p.ops[i];
    if (is_communication(op.kind) && !is_point_to_point(op.kind) && op.axis == axis)
      found.push_back({op.kind, op.tag, p.communication_bytes(op), op.reduction, static_cast<OpId>(i)});
  }
  return found;
}

// Members of a group that run different programs must still agree on the axis' collectives, in order.
void check_collectives(const Plan& plan, Violations& out) {
  for (int a = 0; a < group_count; ++a) {
    const Axis axis = static_cast<Axis>(a);
    std::vector<std::vector<Message>> lists;
    for (const Program& p : plan.programs) {
      lists.push_back(collectives(p, axis));
      std::unordered_set<std::uint32_t> tags(2 * lists.back().size());
      for (const Message& m : lists.back())
        if (!tags.insert(m.tag).second && out.size() < enough)
          out.push_back(fmt::format("{}: tag used twice on the {} axis", place(p, static_cast<std::size_t>(m.op)),
                                    to_text(axis)));
    }
    std::set<std::pair<std::int32_t, std::int32_t>> compared;
    for (Rank r = 0; r < plan.mesh.size(); ++r) {
      const auto mine = plan.program_of[static_cast<std::size_t>(r)];
      const auto first = plan.program_of[static_cast<std::size_t>(plan.mesh.neighbour(r, axis, 0))];
      if (mine == first || !compared.insert({first, mine}).second) continue;
      const auto& a_list = lists[static_cast<std::size_t>(first)];
      const auto& b_list = lists[static_cast<std::size_t>(mine)];
      if (a_list == b_list) continue;
      const auto [at, _] = std::mismatch(a_list.begin(), a_list.end(), b_list.begin(), b_list.end());
      out.push_back(fmt::format("rank {} ({}) and rank {} ({}) disagree on collective {} of the {} axis",
                                plan.mesh.neighbour(r, axis, 0), plan.programs[static_cast<std::size_t>(first)].role, r,
                                plan.programs[static_cast<std::size_t>(mine)].role, at - a_list.begin(),
                                to_text(axis)));
    }
  }
}

// A send of program A to program B needs the receive with its tag, its size and the opposite peer, and the reverse.
void check_messages(const Plan& plan, Violations& out) {
  using Key = std::tuple<std::int32_t, Axis, std::uint32_t, bool>;
  std::map<Key, const Op*> by_tag;
  for (std::size_t p = 0; p < plan.programs.size(); ++p)
    for (const Op& op : plan.programs[p].ops)
      if (is_point_to_point(op.kind))
        by_tag[{static_cast<std::int32_t>(p), op.axis, op.tag, op.kind == OpKind::send}] = &op;
  std::set<std::int32_t> seen;
  for (Rank r = 0; r < plan.mesh.size(); ++r) {
    const auto mine = plan.program_of[static_cast<std::size_t>(r)];
    if (!seen.insert(mine).second) continue;
    const Program& program = plan.programs[static_cast<std::size_t>(mine)];
    for (std::size_t i = 0; i < program.ops.size() && out.size() < enough; ++i) {
      const Op& op = program.ops[i];
      if (!is_point_to_point(op.kind)) continue;
      const int there = plan.mesh.coordinate(r, op.axis) + op.peer;
      if (there < 0 || there >= plan.mesh.degree(op.axis)) {
        out.push_back(
            fmt::format("{}: peer {} lies outside the {} axis", place(program, i), op.peer, to_text(op.axis)));
        continue;
      }
      const auto other = plan.program_of[static_cast<std::size_t>(plan.mesh.neighbour(r, op.axis, there))];
      const auto match = by_tag.find({other, op.axis, op.tag, op.kind != OpKind::send});
      const bool sound = match != by_tag.end() && match->second->peer == -op.peer &&
                         plan.programs[static_cast<std::size_t>(other)].communication_bytes(*match->second) ==
                             program.communication_bytes(op);
      if (!sound)
        out.push_back(fmt::format("{}: no {} of equal size on {}", place(program, i),
                                  op.kind == OpKind::send ? "receive" : "send",
                                  plan.programs[static_cast<std::size_t>(other)].role));
    }
  }
}

}  // namespace

std::vector<std::string> verify(const Plan& plan) {
  Violations out;
  if (plan.program_of.size() != static_cast<std::size_t>(plan.mesh.size()))
    return {fmt::format("{} ranks have a program, the mesh has {}", plan.program_of.size(), plan.mesh.size())};
  for (const Program& p : plan.programs) {
    const auto root = roots(p);
    check_operands(p, root, out);
    check_dependencies(p, out);
    check_hazards(p, root, out);
  }
  check_collectives(plan, out);
  check_messages(plan, out);
  if (out.empty()) out = find_deadlock(plan);
  return out;
}

}  // namespace trainwire
