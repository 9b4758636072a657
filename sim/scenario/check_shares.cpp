// Sequence, context and expert parallelism against the model: what they share out must divide.
#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/read.h"

namespace trainwire {
namespace {

std::string multiples_near(std::int64_t n, std::int64_t unit) {
  const std::int64_t below = n / unit * unit;
  return below > 0 ? fmt::format("Try {} or {}", below, below + unit) : fmt::format("Try {}", unit);
}

void check_sequence_parallel(const Scenario& s, Checks& checks) {
  const Strategy& strategy = s.strategy;
  if (!strategy.tensor.sequence_parallel || strategy.tensor.degree == 1) return;
  if (s.model.family != "transformer") {
    checks.fail("strategy.tensor.sequence_parallel", "true",
                fmt::format("divides the tokens of sequences, and model {} has none", s.model.name), "Set it to false");
  } else if (s.training.sequence % strategy.tensor.degree != 0) {
    checks.fail("training.sequence", std::to_string(s.training.sequence),
                fmt::format("must be a multiple of tensor = {} for sequence parallelism", strategy.tensor.degree),
                multiples_near(s.training.sequence, strategy.tensor.degree));
  }
}

const char* name_of(ContextMethod method) {
  switch (method) {
    case ContextMethod::ring:
      return "ring";
    case ContextMethod::all_gather:
      return "all-gather";
    case ContextMethod::ulysses:
      break;
  }
  return "ulysses";
}

void check_context_heads(const Scenario& s, Checks& checks) {
  const Transformer& t = s.model.transformer;
  const std::int64_t degree = s.strategy.context.degree, heads = t.kv_heads / s.strategy.tensor.degree;
  if (s.strategy.context.method != ContextMethod::ulysses || heads == 0 || heads % degree == 0) return;
  checks.fail(
      "strategy.context", std::to_string(degree),
      fmt::format("must divide the KV heads of a rank, which ulysses shares out: kv_heads = {} over tensor = {} "
                  "leaves {}",
                  t.kv_heads, s.strategy.tensor.degree, heads),
      fmt::format("Try {}, or method: ring", divisors_near(heads, degree)));
}

void check_context(const Scenario& s, Checks& checks) {
  const auto& context = s.strategy.context;
  if (context.degree == 1) return;
  if (s.model.family != "transformer") {
    checks.fail("strategy.context", std::to_string(context.degree),
                s.model.vision()
                    ? fmt::format("{} shares out the tokens of sequences, and {} is a vision model without any: an "
                                  "image is one sample",
                                  name_of(context.method), s.model.name)
                    : fmt::format("shares out the tokens of sequences, and model {} has none", s.model.name),
                "Use data instead");
    return;
  }
  if (context.method == ContextMethod::ring && s.training.recompute == Recompute::selective) {
    checks.fail("training.recompute", "selective",
                "makes the result of attention again, which a ring joins from blocks that have gone on",
                "Try recompute: full, or strategy.context.method: all-gather");
  }
  const bool halves = context.method != ContextMethod::ulysses;
  const std::int64_t tensor = s.strategy.tensor.sequence_parallel ? s.strategy.tensor.degree : 1;
  const std::int64_t unit = std::int64_t{context.degree} * std::max<std::int64_t>(halves ? 2 : 1, tensor);
  if (s.training.sequence % unit != 0) {
    checks.fail("training.sequence", std::to_string(s.training.sequence),
                fmt::format("must be a multiple of {} for context = {}{}{}", unit, context.degree,
                            halves ? ", whose ranks have two parts each" : "",
                            tensor > 1 ? fmt::format(", and sequence parallelism over tensor = {}", tensor) : ""),
                multiples_near(s.training.sequence, unit));
  }
  check_context_heads(s, checks);
}

void check_expert(const Scenario& s, Checks& checks) {
  const auto& expert = s.strategy.expert;
  const auto& e = s.model.transformer.experts;
  const bool has_experts = s.model.family == "transformer" && e.count > 0;
  if (expert.degree > 1 && !has_experts) {
    checks.fail("strategy.expert", std::to_string(expert.degree),
                fmt::format("shares out experts, and model {} has none", s.model.name), "Use data instead");
    return;
  }
  if (has_experts && e.count % expert.degree != 0) {
    checks.fail("strategy.expert", std::to_string(expert.degree),
                fmt::format("must divide the {} experts of model {}", e.count, s.model.name),
                fmt::format("Try {}", divisors_near(e.count, expert.degree)));
  }
  if (expert.imbalance == 0) return;
  const double most = has_experts ? static_cast<double>(e.count) / static_cast<double>(e.per_token) : 0;
  if (!has_experts) {
    checks.fail("strategy.expert.imbalance", fmt::format("{}", expert.imbalance),
                fmt::format("is the load of experts, and model {} has none", s.model.name), "Leave it out");
  } else if (expert.imbalance < 1 || expert.imbalance > most) {
    checks.fail("strategy.expert.imbalance", fmt::format("{}", expert.imbalance),
                fmt::format("is the busiest expert's load over the mean: at least 1, and at most {:g} where a token "
                            "chooses {} of {} experts",
                            most, e.per_token, e.count),
                "Try 1.5; 0 lets the router decide");
  }
}

}  // namespace

void check_shares(const Scenario& s, Checks& checks) {
  check_sequence_parallel(s, checks);
  check_context(s, checks);
  check_expert(s, checks);
}

}  // namespace trainwire
