// Expert parallelism (Lepikhin et al. 2020, "GShard"): ranks of the axis work on other sequences and keep other
// experts; an all-to-all takes the rows to their experts and one brings them back. Dropless: every row travels, so
// sizes follow the router; the plan has the expected ones, T·k rows a rank and micro-batch where the load is even.
// Bytes on the axis a layer and micro-batch: forward 2 all-to-alls of T·k·H, backward 2 more; (n-1)/n of each leave the
// rank. Gradients of experts are summed over data and context alone, all others over the expert axis too.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/parallel/draft.h"

namespace trainwire {
namespace {

using Kind = Placement::Kind;
constexpr auto axis = static_cast<std::size_t>(Axis::expert);

struct ExpertPass {
  Draft& draft;
  int degree;
  double imbalance;
  std::int64_t seed;
  std::vector<DraftOp> result;

  // Parts for the members, of at most every token's rows for as many local experts as it can choose.
  void divide(TensorId t, std::int64_t tokens, std::int64_t per_token) {
    Routed& r = tensor(draft, t).routed;
    if (r.parts != 1) return;
    const double whole = static_cast<double>(tensor(draft, t).shape[0]);
    const auto shares = shares_of_experts(r.experts);
    r.busiest = std::llround(whole * degree * *std::max_element(shares.begin(), shares.end()));
    r.parts = degree;
    r.experts /= degree;
    r.rows = tokens * std::min<std::int64_t>(per_token, r.experts);
  }

  // Of the rows, by member.
  std::vector<double> shares_of_experts(int experts) const {
    const auto by_expert = distribution_over_experts(experts, imbalance, seed);
    std::vector<double> shares(static_cast<std::size_t>(degree));
    for (std::size_t e = 0; e < by_expert.size(); ++e)
      shares[e * static_cast<std::size_t>(degree) / by_expert.size()] += by_expert[e];
    return shares;
  }

  TensorId exchanged(const DraftOp& op, TensorId from, const char* suffix) {
    const TensorId to =
        add_like(draft, from, tensor(draft, from).name + suffix, tensor(draft, from).dtype, Category::activation);
    exchange(op, from, to);
    return to;
  }

  void exchange(const DraftOp& op, TensorId from, TensorId to) {
    DraftOp all_to_all;
    all_to_all.kind = OpKind::all_to_all;
    all_to_all.stream = Stream::expert;
    all_to_all.axis = Axis::expert;
    all_to_all.layer = op.layer;
    all_to_all.inputs = {from};
    all_to_all.outputs = {to};
    result.push_back(std::move(all_to_all));
  }

  void apply(DraftOp op) {
    std::int64_t tokens = 0;
    switch (op.kind) {
      case OpKind::dispatch:
        tokens = tensor(draft, op.inputs[1]).shape[0];
        divide(op.outputs[0], tokens, op.attributes.top_k);
        result.push_back(op);
        sent = op.outputs[0];
        received = exchanged(op, sent, ".received");
        return;
      case OpKind::expert_linear:
      case OpKind::swiglu:
        if (tensor(draft, op.outputs[0]).routed.parts == 0) break;
        tensor(draft, op.outputs[0]).routed = tensor(draft, sent).routed;
        for (TensorId& t : op.inputs)
          if (t == sent) t = received;
        break;
      case OpKind::combine:
        op.inputs[0] = exchanged(op, op.inputs[0], ".returned");
        break;
      default:
        break;
    }
    result.push_back(std::move(op));
  }

  TensorId sent = -1, received = -1;
};

}  // namespace

void expert_parallel(Draft& draft, const Scenario& s) {
  const int degree = s.mesh.degree(Axis::expert);
  if (degree == 1) return;
  for (std::size_t p = 0; p < draft.parameters.size(); ++p) {
    if (!draft.parameters[p].experts) continue;
    Tensor& t = tensor(draft, draft.parameter_tensor[p]);
    t.placement[axis] = {Kind::shard, 0};
    t.shape[0] /= degree;
  }
  ExpertPass pass{draft, degree, s.strategy.expert.imbalance, s.strategy.expert.seed, {}};
  for (const DraftOp& op : draft.forward) pass.apply(op);
  draft.forward = std::move(pass.result);
}

}  // namespace trainwire
