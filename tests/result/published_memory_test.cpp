// Peak memory against what others published (../shared/measurements beside the checkout, where it is there): every row
// is listed with its error, or with the reason why it cannot be predicted.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "sim/result/allocator.h"
#include "sim/result/report.h"
#include "tests/scenarios.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else if (c != '\r')
      fields.back() += c;
  }
  return fields;
}

std::vector<Row> read_table(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  const auto names = fields_of(line);
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    const auto fields = fields_of(line);
    Row row;
    for (std::size_t i = 0; i < std::min(names.size(), fields.size()); ++i) row[names[i]] = fields[i];
    rows.push_back(row);
  }
  return rows;
}

int number(const Row& row, const std::string& key, int fallback) {
  const std::string& text = row.at(key);
  return text.empty() ? fallback : std::atoi(text.c_str());
}

// Why a row is out of reach; empty: it is not.
std::string out_of_reach(const Row& r) {
  if (!r.at("moe").empty()) return "mixture of experts";
  if (number(r, "cp", 1) > 1) return "states shared out over data x context ranks";
  if (r.at("precision") == "fp8") return "fp8";
  if (r.at("zero_or_fsdp").find("offload") != std::string::npos) return "offload";
  if (r.at("quantity").find('%') != std::string::npos) return "a ratio";
  if (r.at("source").starts_with("BigScience")) return "nvidia-smi: with context and NCCL buffers, snapshot not peak";
  if (r.at("gbs").empty() && r.at("dp").empty()) return "no batch";
  if (r.at("layers").empty() || r.at("hidden").empty() || r.at("vocab").empty()) return "no model shape";
  return "";
}

Scenario scenario_of(const Row& r) {
  const bool gated = r.at("gated_mlp") == "1";
  std::string model = "{family: transformer, max_sequence: " + r.at("seq");
  for (const char* key : {"layers", "hidden", "heads", "kv_heads", "ffn_hidden", "vocab"})
    if (!r.at(key).empty()) model += std::string(", ") + key + ": " + r.at(key);
  model += gated ? ", positions: rotary, norm: rms_norm, activation: swiglu, source: table}"
                 : ", positions: learned, norm: layer_norm, activation: gelu, biases: true, tied: true, source: table}";
  const int dp = number(r, "dp", 1), mbs = number(r, "mbs", 1);
  Scenario s = make_scenario(model, {dp, number(r, "tp", 1), number(r, "pp", 1)}, number(r, "gbs", 4 * mbs * dp));
  s.strategy.tensor.sequence_parallel = r.at("seq_parallel") == "1" && number(r, "tp", 1) > 1;
  s.training.precision = Precision::bf16;
  s.training.sequence = number(r, "seq", 2048);
  s.training.micro_batch = mbs;
  const std::string& how = r.at("zero_or_fsdp");
  s.strategy.data.sharding = how.starts_with("fsdp")    ? Sharding::fsdp
                             : how.starts_with("zero3") ? Sharding::zero3
                             : how.starts_with("zero1") ? Sharding::zero1
                                                        : Sharding::none;
  s.training.recompute = r.at("recompute") == "full"        ? Recompute::full
                         : r.at("recompute") == "selective" ? Recompute::selective
                                                            : Recompute::none;
  return s;
}

double predicted_gib(const Row& r, const Scenario& s) {
  const auto stages = memory_by_stage(build_plan(s));
  const int per_stage = number(r, "gpus", 1) / number(r, "pp", 1);
  const std::string& place = r.at("rank_or_stage");
  std::size_t stage = 0;
  if (place.starts_with("rank ")) stage = static_cast<std::size_t>(std::atoi(place.c_str() + 5) / per_stage);
  const StageMemory& m = stages.at(std::min(stage, stages.size() - 1));
  constexpr double gib = 1024.0 * 1024 * 1024;
  if (r.at("quantity").starts_with("parameters")) return (m.parameters + m.gradients + m.optimizer) / gib;
  if (r.at("quantity").starts_with("activations")) return m.activations / gib;
  if (r.at("quantity").find("reserved") != std::string::npos) return m.peak / gib * (1 + allocator_slack);
  double peak = m.peak;
  if (place.empty())
    for (const StageMemory& other : stages) peak = std::max(peak, other.peak);
  return peak / gib;
}

}  // namespace

TEST_CASE("published peaks of memory are predicted") {
  const std::filesystem::path table =
      std::filesystem::path(TRAINWIRE_SOURCE_DIR) / "../shared/measurements/published/memory.csv";
  if (!std::filesystem::exists(table)) {
    WARN("SKIPPED: no " << table << ": published peaks of memory are not compared");
    return;
  }
  std::vector<double> errors;
  std::map<std::string, int> unreached;
  for (const Row& row : read_table(table)) {
    const std::string reason = out_of_reach(row);
    if (!reason.empty()) {
      ++unreached[reason];
      std::printf("%-9s %-16s %8s GiB  -- %s\n", row.at("id").c_str(), row.at("model").c_str(),
                  row.at("mem_GiB").c_str(), reason.c_str());
      continue;
    }
    const double measured = std::atof(row.at("mem_GiB").c_str()), predicted = predicted_gib(row, scenario_of(row));
    errors.push_back(predicted / measured - 1);
    std::printf("%-9s %-16s %8.2f GiB %8.2f predicted %+6.1f %%  (%s, %s)\n", row.at("id").c_str(),
                row.at("model").c_str(), measured, predicted, 100 * errors.back(), row.at("quantity").c_str(),
                row.at("rank_or_stage").c_str());
  }
  for (double& e : errors) e = std::abs(e);
  std::sort(errors.begin(), errors.end());
  for (const auto& [reason, count] : unreached) std::printf("%4d rows not predicted: %s\n", count, reason.c_str());
  REQUIRE(!errors.empty());
  const double median = errors[errors.size() / 2];
  std::printf("%zu rows predicted: median error %.1f %%, worst %.1f %%\n", errors.size(), 100 * median,
              100 * errors.back());
  CHECK(median < 0.1);
}
