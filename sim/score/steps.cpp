// Training steps with all their degrees: our own table, and tables in the same columns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/score/published.h"
#include "sim/score/scenario_text.h"
#include "sim/score/tables.h"

namespace trainwire {
namespace {

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// The first of the columns without which there is no scenario that is empty; "" where all are there.
std::string missing(const Csv& csv, std::size_t i) {
  for (const char* name : {"layers", "hidden", "heads", "vocab", "seq", "gpus", "mbs", "gbs"})
    if (csv.at(i, name).empty()) return name;
  return "";
}

// What the table says that we have no words for; "" where there is nothing.
std::string beyond_us(const Csv& csv, std::size_t i) {
  const std::string &model = csv.at(i, "model"), &recompute = csv.at(i, "recompute"), &moe = csv.at(i, "moe");
  if (csv.at(i, "step_time_s").empty()) return "the publisher gives no step time";
  if (!is_transformer(model)) return "no model family for " + model;
  if (const std::string name = missing(csv, i); !name.empty()) return fmt::format("{} was not published", name);
  if (!moe.empty()) return "mixtures of experts are not described yet";
  if (holds(csv.at(i, "zero_or_fsdp"), "adapter") || holds(csv.at(i, "table"), "LORA")) return "no LoRA adapters";
  if (recompute.empty()) return "whether activations are recomputed was not published";
  if (recompute == "custom" || holds(recompute, "(")) return fmt::format("no recomputation \"{}\"", recompute);
  return "";
}

std::string precision_of(const std::string& published) {
  if (holds(published, "bf16")) return "bf16";
  if (holds(published, "fp16")) return "fp16";
  if (holds(published, "fp8") || published == "nvfp4") return "fp8";
  return holds(published, "tf32") ? "tf32" : "fp32";
}

int degree(const Csv& csv, std::size_t i, const char* name) {
  const double value = csv.number(i, name);
  return std::isnan(value) ? 1 : static_cast<int>(value);
}

PublishedStep describe(const Csv& csv, std::size_t i, const Publisher& publisher) {
  const auto whole = [&](const char* name) { return static_cast<std::int64_t>(csv.number(i, name)); };
  PublishedStep p;
  p.name = csv.at(i, "id");
  p.machine = publisher.machine;
  p.framework = publisher.framework;
  const int gpus = degree(csv, i, "gpus"), a_node = std::min(gpus, degree(csv, i, "gpus_per_node"));
  p.nodes = std::max(1, gpus / std::max(1, a_node)), p.gpus_per_node = a_node;
  p.layers = whole("layers"), p.hidden = whole("hidden"), p.heads = whole("heads"), p.sequence = whole("seq");
  p.kv_heads = csv.at(i, "kv_heads").empty() ? p.heads : whole("kv_heads");
  p.ffn_hidden = csv.at(i, "ffn_hidden").empty() ? 4 * p.hidden : whole("ffn_hidden");
  p.llama = csv.at(i, "gated_mlp") == "1";
  p.micro_batch = whole("mbs"), p.global_batch = whole("gbs");
  p.tensor = degree(csv, i, "tp"), p.pipeline = degree(csv, i, "pp"), p.context = degree(csv, i, "cp");
  p.data = std::max(1, gpus / (p.tensor * p.pipeline * p.context));
  p.vocab = padded_vocabulary(whole("vocab"), p.tensor);
  p.interleave = p.pipeline > 1 ? degree(csv, i, "vp") : 1;
  if (p.interleave > 1) p.schedule = "interleaved";
  p.sequence_parallel = p.tensor > 1 && csv.at(i, "seq_parallel") == "1";
  p.recompute = csv.at(i, "recompute");
  p.precision = precision_of(csv.at(i, "precision"));
  p.sharding = p.data > 1 ? sharding_of(csv.at(i, "zero_or_fsdp"), p.data) : "none";
  p.overlap = publisher.overlap;
  return p;
}

}  // namespace

bool is_steps(const Csv& csv) { return csv.has({"id", "source", "layers", "hidden", "mbs", "gbs", "step_time_s"}); }

ScoreTable read_steps(const Csv& csv) {
  ScoreTable table;
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    ScoreRow row;
    row.id = csv.at(i, "id");
    row.note = csv.at(i, "notes");
    const std::string &source = csv.at(i, "source"), &gpu = csv.at(i, "gpu");
    row.groups = {source};
    if (!csv.at(i, "quality").empty()) row.groups.push_back("quality " + csv.at(i, "quality"));
    row.alike = fmt::format("{}, {}, {} {}, {}", source, csv.at(i, "model"), csv.at(i, "gpus"), gpu,
                            csv.at(i, "precision"));
    row.measured_s = csv.number(i, "step_time_s");
    row.reason = beyond_us(csv, i);
    const Publisher publisher = publisher_of(source, gpu, csv.at(i, "machine"), csv.at(i, "framework"));
    if (row.reason.empty() && publisher.machine.empty()) row.reason = "no machine file for " + gpu;
    if (row.reason.empty()) row.step = to_case(describe(csv, i, publisher));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace trainwire
