#include "sim/engine/program.h"

#include <array>
#include <map>
#include <tuple>

namespace trainwire {

namespace {

std::size_t at(OpId op) { return static_cast<std::size_t>(op); }

// The operations that `op` waits for, other than its predecessors on its own stream.
template <class Visit>
void for_each_dependency(const Program& program, const Op& op, Visit visit) {
  for (const OpId d : program.waits_for(op))
    if (program.ops[at(d)].stream != op.stream) visit(d);
}

void join_pieces(CompiledProgram& c) {
  const Program& program = *c.source;
  const std::size_t count = program.ops.size();
  std::vector<bool> waited_for(count, false), waits(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    for_each_dependency(program, program.ops[i], [&](OpId d) {
      waited_for[at(d)] = true;
      waits[i] = true;
    });
  }
  c.last.resize(count);
  c.next.assign(count, -1);
  std::array<OpId, stream_count> piece{}, previous{};  // of each stream: first and last operation of the latest piece
  previous.fill(-1);
  for (std::size_t i = 0; i < count; ++i) {
    const Op& op = program.ops[i];
    const auto stream = static_cast<std::size_t>(op.stream);
    const auto id = static_cast<OpId>(i);
    const OpId before = previous[stream];
    c.last[i] = id;
    const bool joins = before >= 0 && before == id - 1 && !is_communication(op.kind) &&
                       !is_communication(program.ops[at(before)].kind) && !waits[i] && !waited_for[at(before)];
    if (joins) {
      c.last[at(piece[stream])] = id;
    } else {
      if (before >= 0) c.next[at(before)] = id;
      piece[stream] = id;
    }
    previous[stream] = id;
  }
}

void count_waits(CompiledProgram& c) {
  const Program& program = *c.source;
  const std::size_t count = program.ops.size();
  c.waits.assign(count, 0);
  c.waiters_from.assign(count + 1, 0);
  for (const Op& op : program.ops) for_each_dependency(program, op, [&](OpId d) { ++c.waiters_from[at(d) + 1]; });
  for (std::size_t i = 0; i < count; ++i) c.waiters_from[i + 1] += c.waiters_from[i];
  c.waiters.resize(c.waiters_from.back());
  std::vector<std::uint32_t> end(c.waiters_from.begin(), c.waiters_from.end() - 1);
  for (std::size_t i = 0; i < count; ++i) {
    for_each_dependency(program, program.ops[i], [&](OpId d) {
      c.waiters[end[at(d)]++] = static_cast<OpId>(i);
      ++c.waits[i];
    });
    if (c.next[i] >= 0) ++c.waits[at(c.next[i])];
  }
}

void find_communications(CompiledProgram& c, const DeviceMesh& mesh) {
  const Program& program = *c.source;
  std::map<std::tuple<Endpoint::Part, Axis, int>, int> endpoints;
  std::map<std::tuple<int, OpKind, double>, int> communications;
  c.communication.assign(program.ops.size(), -1);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    if (!is_communication(op.kind)) continue;
    using Part = Endpoint::Part;
    const Part part =
        op.kind == OpKind::send ? Part::sender : (op.kind == OpKind::recv ? Part::receiver : Part::member);
    const int degree = mesh.degree(op.axis);
    const int steps = part == Part::member ? 0 : (op.peer % degree + degree) % degree;
    const auto [e, new_endpoint] = endpoints.try_emplace({part, op.axis, steps}, static_cast<int>(c.endpoints.size()));
    if (new_endpoint) c.endpoints.push_back({part, op.axis, steps, 0});
    c.endpoints[static_cast<std::size_t>(e->second)].streams |= 1U << static_cast<unsigned>(op.stream);
    const OpKind kind = part == Part::member ? op.kind : OpKind::send;
    const double bytes = program.communication_bytes(op);
    const auto [k, new_communication] =
        communications.try_emplace({e->second, kind, bytes}, static_cast<int>(c.communications.size()));
    if (new_communication) c.communications.push_back({e->second, kind, bytes});
    c.communication[i] = k->second;
  }
}

}  // namespace

CompiledProgram compile(const Program& program, const DeviceMesh& mesh) {
  CompiledProgram c;
  c.source = &program;
  join_pieces(c);
  count_waits(c);
  find_communications(c, mesh);
  for (OpId piece = 0; piece < static_cast<OpId>(program.ops.size()); piece = c.last[at(piece)] + 1)
    if (c.waits[at(piece)] == 0) c.first.push_back(piece);
  return c;
}

}  // namespace trainwire
