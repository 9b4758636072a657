// Collects what `explain` says about a plan.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/verbs/explain.h"

namespace trainwire {
namespace {

int nodes_touched(const Scenario& s, const std::vector<Rank>& ranks) {
  std::set<int> nodes;
  for (const Rank r : ranks) {
    const DeviceId device = s.placement[static_cast<std::size_t>(r)];
    nodes.insert(s.topology.devices[static_cast<std::size_t>(device)].node);
  }
  return static_cast<int>(nodes.size());
}

AxisExplained explain_axis(const Scenario& s, const Plan& plan, Axis axis) {
  AxisExplained out;
  out.axis = axis;
  out.degree = plan.mesh.degree(axis);
  out.groups = plan.mesh.size() / out.degree;
  out.first_group = plan.mesh.group(0, axis);
  out.nodes = nodes_touched(s, out.first_group);
  for (const Program& program : plan.programs) {
    std::int64_t operations = 0;
    double bytes = 0;
    for (const Op& op : program.ops) {
      if (!is_communication(op.kind) || op.axis != axis) continue;
      ++operations;
      bytes += program.communication_bytes(op);
    }
    if (bytes > out.bytes || operations > out.operations) {
      out.operations = std::max(operations, out.operations);
      out.bytes = std::max(bytes, out.bytes);
    }
  }
  return out;
}

std::vector<std::string> warnings_of(const Scenario& s, const Explained& e) {
  std::vector<std::string> warnings;
  for (const StageMemory& stage : e.memory) {
    if (e.capacity_bytes <= 0 || stage.peak <= e.capacity_bytes) continue;
    warnings.push_back(fmt::format("stage {} does not fit in memory: {} needed, {} there", stage.stage,
                                   to_text(Bytes(stage.peak)), to_text(Bytes(e.capacity_bytes))));
  }
  for (const AxisExplained& axis : e.axes) {
    if (axis.axis == Axis::tensor && axis.degree > 1 && axis.nodes > 1) {
      warnings.push_back(
          fmt::format("tensor groups span {} hosts: their all-reduces, several a layer, cross the network. "
                      "Put tensor first in strategy.order, or lower its degree",
                      axis.nodes));
    }
  }
  const int stages = s.strategy.pipeline.degree;
  if (stages > 1 && e.micro_batches < stages) {
    warnings.push_back(
        fmt::format("{} micro-batches for {} pipeline stages: most of the step is bubble", e.micro_batches, stages));
  }
  if (s.training.recompute == Recompute::full && s.strategy.pipeline.schedule == PipelineSchedule::zero_bubble)
    warnings.push_back(
        "recompute full with zero-bubble: what is made again is kept until the weight gradients are computed, so that "
        "putting them off takes the memory that recomputation freed");
  if (s.training.recompute == Recompute::selective)
    warnings.push_back(
        "recompute selective: attention is fused and keeps no scores, so that running it again frees the log-sum-exp "
        "alone");
  const Transformer& t = s.model.transformer;
  if (s.model.family == "transformer" && t.max_sequence > 0 && s.training.sequence > t.max_sequence) {
    warnings.push_back(fmt::format("sequences of {} are longer than the {} that {} was made for", s.training.sequence,
                                   t.max_sequence, s.model.name));
  }
  return warnings;
}

}  // namespace

Explained explained(const Scenario& s, const Plan& plan) {
  Explained e;
  e.parameters = parameter_count(s.model);
  e.micro_batches = s.micro_batches();
  for (const Axis axis : plan.mesh.order()) e.axes.push_back(explain_axis(s, plan, axis));
  for (const Axis group : {Axis::expert_gradient, Axis::gradient}) {
    AxisExplained found = explain_axis(s, plan, group);
    if (found.operations > 0) e.axes.push_back(std::move(found));
  }
  for (std::size_t i = 0; i < plan.programs.size(); ++i) {
    ProgramExplained program;
    program.role = plan.programs[i].role;
    program.ranks = static_cast<int>(std::count(plan.program_of.begin(), plan.program_of.end(), static_cast<int>(i)));
    for (const Op& op : plan.programs[i].ops) ++program.operations[std::string(phase(op))];
    e.programs.push_back(std::move(program));
  }
  e.memory = memory_by_stage(plan);
  for (const DeviceSpec& spec : s.topology.specs) {
    const double bytes = spec.memory.value.value;
    if (bytes > 0 && (e.capacity_bytes <= 0 || bytes < e.capacity_bytes)) e.capacity_bytes = bytes;
  }
  e.warnings = warnings_of(s, e);
  return e;
}

std::string operations_text(const Plan& plan) {
  std::string text;
  for (const Program& program : plan.programs) {
    text += fmt::format("program {} ({} operations)\n", program.role, program.ops.size());
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Op& op = program.ops[i];
      text += fmt::format("{:>8}  {:<16}  {}", i, to_text(op.stream), op_name(program, op));
      if (is_communication(op.kind)) text += fmt::format("  [{}]", to_text(Bytes(program.communication_bytes(op))));
      const auto waits = program.waits_for(op);
      for (std::size_t k = 0; k < waits.size(); ++k) text += fmt::format("{}{}", k == 0 ? "  after " : ", ", waits[k]);
      text += '\n';
    }
  }
  return text;
}

}  // namespace trainwire
