// What to change when a plan does not fit in memory: the few choices that help most, each tried out.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace trainwire {

struct MemoryKnob {
  std::vector<std::string> overrides;  // as --set takes them
  double peak_bytes = 0;               // a rank's, with them
  double step_time_s = 0;              // 0: was not asked for
};

// Tries recomputation, sharding, smaller micro-batches, tensor and pipeline ranks in the place of replicas; those that
// the scenario cannot have are left out. The three that leave the lowest peak below `peak_bytes`, lowest first, with
// their step time where `seconds` is given.
std::vector<MemoryKnob> memory_advice(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                      const Scenario&, double peak_bytes,
                                      const std::function<double(const Scenario&, const Plan&)>& seconds = nullptr);

// One line a knob: "--set training.recompute=full: 61.2 GB a rank instead of 93.1 GB, step 12 % longer".
std::string to_text(const MemoryKnob&, double peak_bytes, double step_time_s);

}  // namespace trainwire
