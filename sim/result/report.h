// The numbers people ask for, from a Scenario, its Plan and a Timeline; and their files.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sim/cost/cost.h"
#include "sim/plan/plan.h"
#include "sim/result/timeline.h"
#include "sim/scenario/scenario.h"

namespace trainwire {

struct StageMemory {
  int stage = 0;
  double parameters = 0, gradients = 0, optimizer = 0, activations = 0, workspace = 0, peak = 0;  // bytes a rank
};
struct MemoryPoint { int stage; double time_s; double bytes; };

// From the buffers' first writes and last reads in program order (peak), or along a timeline (curve).
std::vector<StageMemory> memory_by_stage(const Plan&);
std::vector<MemoryPoint> memory_curve(const Plan&, const Timeline&);

struct Breakdown {
  double compute_s = 0, bubble_s = 0, other_s = 0;
  std::map<std::string, double> exposed_s;  // by axis
};
struct BoundBy { std::string what; double share; };
struct LinkReport { std::string name, kind; double bytes, busy_s, utilisation; int copies; };

struct Report {
  std::string scenario, kind, executor;
  int world_size = 1;
  double step_time_s = 0, tokens_per_s = 0;  // samples for vision
  bool vision = false;
  double model_flops_per_s_per_gpu = 0, mfu = 0;
  Breakdown breakdown;              // mean over ranks; the parts add up to step_time_s
  double capacity_bytes = 0, peak_bytes = 0;
  bool fits = true;
  std::vector<StageMemory> memory;
  std::vector<LinkReport> links;    // the busiest first
  std::vector<BoundBy> bound_by;    // shares of the critical path, largest first
  std::vector<double> loss, step_times_s;
  double parameters_checksum = 0;
  std::vector<Provenance> provenance;
  double wall_s = 0, peak_rss_bytes = 0;
  std::int64_t activities = 0;
  std::vector<std::string> warnings;
};

Report measure(const Scenario&, const Plan&, const Timeline&);

std::string to_json(const Report&);     // "trainwire.report/1"
std::string to_summary(const Report&);  // one screen for a person

// report.json, timeline.csv, trace.json, links.csv, memory.csv in `folder`; each written beside and renamed.
// Returns the report as written: with a warning where the timeline was cut. Throws ConfigError when the folder cannot
// be written.
Report write_results(const std::filesystem::path& folder, const Scenario&, const Plan&, const Timeline&, const Report&);

}  // namespace trainwire
