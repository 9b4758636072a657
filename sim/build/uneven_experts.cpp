// Programs by place on the expert axis. What experts receive is what their operations read and write; all else is even.
#include <cmath>
#include <string>

#include "sim/build/passes.h"

namespace trainwire {
namespace {

void expect_rows(Program& program, double share_over_mean) {
  std::vector<bool> received(program.tensors.size(), false);
  for (const Op& op : program.ops) {
    if (op.kind != OpKind::expert_linear && op.kind != OpKind::swiglu) continue;
    for (const auto& operands : {program.inputs(op), program.outputs(op)})
      for (const BufferId b : operands)
        received[static_cast<std::size_t>(program.buffers[static_cast<std::size_t>(b)].tensor)] = true;
  }
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    Tensor& tensor = program.tensors[t];
    if (received[t] && tensor.routed.parts > 0)
      tensor.shape[0] = std::llround(static_cast<double>(tensor.shape[0]) * share_over_mean);
  }
}

}  // namespace

void uneven_experts(Plan& plan, const Scenario& s) {
  const int degree = s.mesh.degree(Axis::expert);
  if (degree == 1 || s.strategy.expert.imbalance <= 1) return;
  const auto experts = static_cast<std::size_t>(s.model.transformer.experts.count);
  const auto by_expert =
      distribution_over_experts(s.model.transformer.experts.count, s.strategy.expert.imbalance, s.strategy.expert.seed);
  std::vector<double> over_mean(static_cast<std::size_t>(degree));
  for (std::size_t e = 0; e < experts; ++e)
    over_mean[e * over_mean.size() / experts] += by_expert[e] * static_cast<double>(degree);
  std::vector<Program> programs;
  for (const Program& stage : plan.programs)
    for (int place = 0; place < degree; ++place) {
      programs.push_back(stage);
      programs.back().role += ", experts " + std::to_string(place);
      expect_rows(programs.back(), over_mean[static_cast<std::size_t>(place)]);
    }
  plan.programs = std::move(programs);
  for (Rank r = 0; r < plan.mesh.size(); ++r) {
    auto& program = plan.program_of[static_cast<std::size_t>(r)];
    program = program * degree + plan.mesh.coordinate(r, Axis::expert);
  }
}

}  // namespace trainwire
