// The passes in their order: this list is how strategies compose. Each leaves the draft as it is at degree 1.
#include <fmt/format.h>

#include <stdexcept>

#include "sim/build/build.h"
#include "sim/build/passes.h"

namespace trainwire {
namespace {

struct Pass {
  const char* name;
  void (*apply)(Draft&, const Scenario&);
};

constexpr Pass passes[] = {
    {"lower", lower},                        // the model's forward pass, one micro-batch, unsplit
    {"tensor", tensor_parallel},             // shapes local to the rank, collectives of the forward pass
    {"context", context_parallel},           // shares of every sequence, collectives around attention
    {"expert", expert_parallel},             // shares of the experts, all-to-alls around them
    {"backward", backward},                  // gradients, collectives of the backward pass
    {"pipeline", pipeline_cut},              // stages, sends and receives
    {"recompute", recompute},                // forward passes again, right before their backward passes
    {"schedule", pipeline_schedule},         // order of micro-batches
    {"tensor gradients", tensor_gradients},  // sums of what tensor ranks have parts of
    {"data", data_parallel},                 // gradient buckets, what replicas share out
    {"clip", clip_gradients},                // the gradients' global norm
    {"optimizer", optimizer},                // updates
};

void stop_if_unsound(const std::vector<std::string>& violations, const char* pass) {
  if (violations.empty()) return;
  std::string text = fmt::format("the plan is unsound after pass '{}':", pass);
  for (const std::string& v : violations) text += "\n  " + v;
  throw std::logic_error(text);
}

}  // namespace

Plan build_plan(const Scenario& s) {
  Draft draft;
  for (const Pass& pass : passes) {
    pass.apply(draft, s);
    stop_if_unsound(verify(draft, s.mesh), pass.name);
  }
  Plan plan = unroll(draft, s);
  uneven_experts(plan, s);
  stop_if_unsound(verify(plan), "unroll");
  return plan;
}

}  // namespace trainwire
