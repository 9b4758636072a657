// vTrain's ground truth (Bang et al., MICRO 2024): GPT-like models in Megatron-DeepSpeed on A100 nodes, fp16, full
// recomputation, 1F1B, no sharding.
#include <fmt/format.h>

#include <algorithm>

#include "sim/score/scenario_text.h"
#include "sim/score/tables.h"

namespace trainwire {
namespace {

constexpr int gpus_a_node = 8;
constexpr std::int64_t gpt2_vocabulary = 50257;

}  // namespace

bool is_vtrain(const Csv& csv) {
  return csv.has({"# GPUs", "global batch", "micro batch", "hidden size", "attention heads", "# layers",
                  "sequence length", "tensor parallelism", "data parallelism", "pipeline parallelism",
                  "iteration time (ms)"});
}

ScoreTable read_vtrain(const Csv& csv) {
  ScoreTable table;
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    const auto whole = [&](const char* name) { return static_cast<std::int64_t>(csv.number(i, name)); };
    const int gpus = static_cast<int>(whole("# GPUs"));
    PublishedStep p;
    p.name = fmt::format("{}:{}", csv.stem(), csv.lines[i]);
    p.machine = "vtrain-a100";
    p.nodes = std::max(1, gpus / gpus_a_node);
    p.gpus_per_node = std::min(gpus, gpus_a_node);
    p.layers = whole("# layers"), p.hidden = whole("hidden size"), p.heads = p.kv_heads = whole("attention heads");
    p.ffn_hidden = 4 * p.hidden, p.sequence = whole("sequence length");
    p.micro_batch = whole("micro batch"), p.global_batch = whole("global batch");
    p.tensor = static_cast<int>(whole("tensor parallelism")), p.data = static_cast<int>(whole("data parallelism"));
    p.pipeline = static_cast<int>(whole("pipeline parallelism"));
    p.vocab = padded_vocabulary(gpt2_vocabulary, p.tensor);
    p.precision = "fp16", p.recompute = "full", p.framework = "megatron-2021", p.overlap = false;
    ScoreRow row;
    row.id = p.name;
    row.measured_s = csv.number(i, "iteration time (ms)") * 1e-3;
    row.alike = fmt::format("{} GPUs, hidden {}, {} layers, batch {}", gpus, p.hidden, p.layers, p.global_batch);
    row.groups = {fmt::format("{} GPUs", gpus)};
    row.step = to_case(p);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace trainwire
