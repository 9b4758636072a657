// A published training step as a scenario file.
#pragma once
#include <cstdint>
#include <string>

#include "sim/score/score.h"

namespace trainwire {

// What tables say of a step, in the words of scenario files. Text fields that are empty are left out.
struct PublishedStep {
  std::string name, machine;  // machine: a file of topologies/machines
  int nodes = 1, gpus_per_node = 0;
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, ffn_hidden = 0, vocab = 0, sequence = 0;
  bool llama = false;         // rotary positions, RMSNorm, SwiGLU, no biases, untied; else GPT-2's
  std::int64_t micro_batch = 1, global_batch = 1;
  std::string precision = "bf16", recompute = "none", framework, sharding = "none", schedule = "1f1b", grad_dtype;
  int data = 1, tensor = 1, pipeline = 1, context = 1, expert = 1, interleave = 1;
  bool sequence_parallel = false, overlap = true;
};

// The scenario and what baselines know.
StepCase to_case(const PublishedStep&);

// Megatron-LM pads the vocabulary to a multiple of 128 times the tensor degree.
std::int64_t padded_vocabulary(std::int64_t vocab, int tensor);

}  // namespace trainwire
