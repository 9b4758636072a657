// Small scenarios made in place, for tests that need a plan: a model of the shelf's families and degrees per axis.
#pragma once
#include <string>

#include "sim/build/build.h"

namespace trainwire::testing {

struct Degrees {
  int data = 1, tensor = 1, pipeline = 1, context = 1, expert = 1;
};

inline std::string tiny_gpt() {
  return "{family: transformer, layers: 4, hidden: 32, heads: 4, vocab: 64, positions: learned, max_sequence: 16, "
         "norm: layer_norm, activation: gelu, biases: true, tied: true, source: test}";
}
inline std::string tiny_llama() {
  return "{family: transformer, layers: 4, hidden: 32, heads: 8, kv_heads: 4, ffn_hidden: 48, vocab: 64, "
         "positions: rotary, norm: rms_norm, activation: swiglu, source: test}";
}
inline std::string tiny_moe() {
  return "{family: transformer, layers: 2, hidden: 32, heads: 8, kv_heads: 4, vocab: 64, positions: rotary, "
         "norm: rms_norm, activation: swiglu, qk_norm: true, "
         "experts: {count: 8, per_token: 2, hidden: 24, shared_hidden: 16}, source: test}";
}
inline std::string tiny_mlp() { return "{family: mlp, inputs: 24, hidden: 32, layers: 4, classes: 8, source: test}"; }
inline std::string tiny_resnet() {
  return "{family: cnn, blocks: [1, 1, 1, 1], bottleneck: false, width: 8, classes: 8, image: 32, source: test}";
}

// World size and mesh follow from the degrees; there is no topology. fp32, AdamW, sequence 16, micro-batch 2.
inline Scenario make_scenario(const std::string& model, Degrees d, std::int64_t global_batch = 16) {
  Problems problems;
  Scenario s;
  s.name = "test";
  const Value value = read_text(model, "test", problems);
  s.model = load_model(value, ".", problems);
  problems.throw_if_any();
  s.training.sequence = s.model.vision() ? s.model.cnn.image : 16;
  s.training.micro_batch = 2;
  s.training.global_batch = global_batch;
  s.training.precision = Precision::fp32;
  s.strategy.data.degree = d.data;
  s.strategy.tensor.degree = d.tensor;
  s.strategy.pipeline.degree = d.pipeline;
  s.strategy.context.degree = d.context;
  s.strategy.expert.degree = d.expert;
  s.mesh = DeviceMesh({d.tensor, d.context, d.expert, d.data, d.pipeline}, s.strategy.order);
  for (Rank r = 0; r < s.mesh.size(); ++r) s.placement.push_back(r);
  return s;
}

}  // namespace trainwire::testing
