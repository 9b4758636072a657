#include "sim/plan/plan.h"

#include <fmt/format.h>

namespace trainwire {

static_assert(sizeof(Op) <= 64, "plans hold up to millions of operations");

std::string_view to_text(Category c) {
  static constexpr std::array<std::string_view, 6> names{"parameter",  "gradient",  "optimizer",
                                                         "activation", "workspace", "input"};
  return names[static_cast<std::size_t>(c)];
}

std::string_view to_text(Stream s) {
  static constexpr std::array<std::string_view, stream_count> names{
      "compute", "tensor", "context", "expert", "data", "pipeline-send", "pipeline-receive", "replica"};
  return names[static_cast<std::size_t>(s)];
}

double Program::communication_bytes(const Op& op) const {
  const bool by_output = op.kind == OpKind::all_gather || op.kind == OpKind::recv;
  double bytes = 0;
  for (const BufferId b : by_output ? outputs(op) : inputs(op)) {
    const Tensor& t = tensor(b);
    // An uneven exchange lasts as long as that of its busiest member.
    const bool uneven = t.routed.busiest > 0 && is_communication(op.kind);
    bytes += uneven ? t.bytes() / static_cast<double>(t.shape[0]) * static_cast<double>(t.routed.busiest) : t.bytes();
  }
  return bytes;
}

std::string op_name(const Program& program, const Op& op) {
  const auto results = program.outputs(op);
  const auto operands = program.inputs(op);
  std::string subject;
  if (op.kind == OpKind::optimizer) {
    subject = op.layer >= 0 ? program.layers[static_cast<std::size_t>(op.layer)] : "all";
  } else if (!results.empty()) {
    subject = program.tensor(results[0]).name;
  } else if (!operands.empty()) {
    subject = program.tensor(operands[0]).name;
  }
  const std::string batch = op.micro_batch >= 0 ? fmt::format(" mb {}", op.micro_batch) : "";
  if (is_communication(op.kind))
    return fmt::format("{} {} over {}{}", subject, to_text(op.kind), to_text(op.axis), batch);
  return fmt::format("{} {} {}{}", subject, to_text(op.kind), to_text(op.role), batch);
}

std::string_view phase(const Op& op) {
  if (is_communication(op.kind)) return "communication";
  if (op.role == Role::forward) return "forward";
  return op.role == Role::update ? "update" : "backward";
}

}  // namespace trainwire
