#include "sim/score/scenario_text.h"

#include <fmt/format.h>

namespace trainwire {
namespace {

std::string model_text(const PublishedStep& p) {
  std::string text = fmt::format(
      "{{family: transformer, layers: {}, hidden: {}, heads: {}, kv_heads: {}, ffn_hidden: {}, vocab: {}, ", p.layers,
      p.hidden, p.heads, p.kv_heads, p.ffn_hidden, p.vocab);
  if (p.hidden % p.heads != 0) text += fmt::format("head_dim: {}, ", p.hidden / p.heads);
  if (p.llama) return text + "positions: rotary, norm: rms_norm, activation: swiglu, source: published}";
  return text + fmt::format("positions: learned, max_sequence: {}, norm: layer_norm, activation: gelu, biases: true, "
                            "tied: true, source: published}}",
                            p.sequence);
}

std::string training_text(const PublishedStep& p) {
  std::string text = fmt::format("{{sequence: {}, micro_batch: {}, global_batch: {}, precision: {}", p.sequence,
                                 p.micro_batch, p.global_batch, p.precision);
  if (p.recompute != "none") text += fmt::format(", recompute: {}", p.recompute);
  if (!p.grad_dtype.empty()) text += fmt::format(", grad_dtype: {}", p.grad_dtype);
  if (!p.framework.empty()) text += fmt::format(", framework: {}", p.framework);
  return text + "}";
}

std::string strategy_text(const PublishedStep& p) {
  std::string text = fmt::format("{{data: {{degree: {}", p.data);
  if (p.sharding != "none") text += fmt::format(", sharding: {}", p.sharding);
  text += fmt::format("{}}}, tensor: {{degree: {}", p.overlap ? "" : ", overlap: false", p.tensor);
  text += fmt::format("{}}}, pipeline: {{degree: {}", p.sequence_parallel ? ", sequence_parallel: true" : "", p.pipeline);
  if (p.pipeline > 1) text += fmt::format(", schedule: {}", p.schedule);
  if (p.interleave > 1) text += fmt::format(", interleave: {}", p.interleave);
  text += "}";
  if (p.context > 1) text += fmt::format(", context: {{degree: {}}}", p.context);
  if (p.expert > 1) text += fmt::format(", expert: {{degree: {}}}", p.expert);
  return text + "}";
}

// Narayanan et al. 2021, equation 3, for any feed-forward and grouped queries: 6 flops a parameter and token, and
// attention in full; recomputation is no model flop.
double model_flops(const PublishedStep& p) {
  const auto real = [](std::int64_t x) { return static_cast<double>(x); };
  const double h = real(p.hidden), kv = h * real(p.kv_heads) / real(p.heads);
  const double block = 2 * h * h + 2 * h * kv + (p.llama ? 3 : 2) * h * real(p.ffn_hidden);
  const double a_token = 6 * (real(p.layers) * block + h * real(p.vocab)) + 12 * real(p.layers) * real(p.sequence) * h;
  return a_token * real(p.sequence) * real(p.global_batch);
}

}  // namespace

std::int64_t padded_vocabulary(std::int64_t vocab, int tensor) {
  const std::int64_t unit = 128 * tensor;
  return (vocab + unit - 1) / unit * unit;
}

StepCase to_case(const PublishedStep& p) {
  StepCase result;
  std::string devices = p.gpus_per_node > 0 ? fmt::format(", devices: {}", p.gpus_per_node) : "";
  result.scenario = fmt::format(
      "name: {}\nmodel: {}\ntopology: {{use: ../topologies/machines/{}.yaml, nodes: {}{}}}\ntraining: {}\n"
      "strategy: {}\n",
      p.name, model_text(p), p.machine, p.nodes, devices, training_text(p), strategy_text(p));
  const double gpus = static_cast<double>(p.data) * p.tensor * p.pipeline * p.context;
  const double micro_batches = static_cast<double>(p.global_batch) / static_cast<double>(p.micro_batch * p.data);
  result.flops_per_gpu = model_flops(p) / gpus;
  result.bubble = (p.pipeline - 1) / (p.interleave * micro_batches + p.pipeline - 1);
  return result;
}

}  // namespace trainwire
