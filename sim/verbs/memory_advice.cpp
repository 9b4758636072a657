#include "sim/verbs/memory_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sim/build/build.h"
#include "sim/config/problems.h"
#include "sim/result/report.h"

namespace trainwire {
namespace {

using Overrides = std::vector<std::string>;

std::vector<Overrides> candidates(const Scenario& s) {
  std::vector<Overrides> all{
      {"training.recompute=selective"}, {"training.recompute=full"}, {"training.grad_dtype=bf16"}};
  const int data = s.strategy.data.degree;
  if (s.training.micro_batch > 1) all.push_back({fmt::format("training.micro_batch={}", s.training.micro_batch / 2)});
  if (data == 1) return all;
  for (const char* sharding : {"zero1", "zero2", "fsdp"})
    all.push_back({fmt::format("strategy.data.sharding={}", sharding)});
  if (data % 2 != 0) return all;
  const std::string fewer = fmt::format("strategy.data={}", data / 2);
  all.push_back({fmt::format("strategy.tensor={}", 2 * s.strategy.tensor.degree), fewer});
  all.push_back({fmt::format("strategy.pipeline={}", 2 * s.strategy.pipeline.degree), fewer});
  return all;
}

double peak_of(const Plan& plan) {
  double peak = 0;
  for (const StageMemory& stage : memory_by_stage(plan)) peak = std::max(peak, stage.peak);
  return peak;
}

}  // namespace

std::vector<MemoryKnob> memory_advice(const std::filesystem::path& file, const Overrides& overrides, const Scenario& s,
                                      double peak_bytes,
                                      const std::function<double(const Scenario&, const Plan&)>& seconds) {
  constexpr std::size_t shown = 3;
  const auto changed = [&](const Overrides& more) {
    Overrides both = overrides;
    both.insert(both.end(), more.begin(), more.end());
    return load_scenario(file, both);
  };
  std::vector<MemoryKnob> knobs;
  for (const Overrides& candidate : candidates(s)) {
    try {
      const double peak = peak_of(build_plan(changed(candidate)));
      if (peak < peak_bytes) knobs.push_back({candidate, peak, 0});
    } catch (const ConfigError&) {  // not with this model or these degrees
    }
  }
  std::stable_sort(knobs.begin(), knobs.end(),
                   [](const MemoryKnob& a, const MemoryKnob& b) { return a.peak_bytes < b.peak_bytes; });
  if (knobs.size() > shown) knobs.resize(shown);
  if (seconds != nullptr)
    for (MemoryKnob& knob : knobs) {
      const Scenario scenario = changed(knob.overrides);
      knob.step_time_s = seconds(scenario, build_plan(scenario));
    }
  return knobs;
}

std::string to_text(const MemoryKnob& knob, double peak_bytes, double step_time_s) {
  std::string text = fmt::format("--set {}: {} a rank instead of {}", fmt::join(knob.overrides, " --set "),
                                 to_text(Bytes(knob.peak_bytes)), to_text(Bytes(peak_bytes)));
  if (knob.step_time_s > 0 && step_time_s > 0) {
    const double change = 100 * (knob.step_time_s / step_time_s - 1);
    text += fmt::format(", step {:.1f} % {}", std::abs(change), change > 0 ? "longer" : "shorter");
  }
  return text;
}

}  // namespace trainwire
