// What simulating costs: each solver's time an operation and the plan's bytes an operation. Prints tables, judges
// nothing. Arguments: the source folder.
#include <fmt/format.h>
#include <malloc.h>

#include <chrono>

#include "sim/build/build.h"
#include "sim/engine/simulate.h"

using namespace trainwire;

namespace {

struct Workload {
  std::string name, scenario;
  std::vector<std::string> overrides;
  bool fold;
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double heap_bytes() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

void measure_planning(const std::string& scenario_file) {
  const Scenario scenario = load_scenario(scenario_file);
  const double before = heap_bytes(), start = seconds();
  const Plan plan = build_plan(scenario);
  fmt::print("planning {}: {:.3f} s, {:.0f} MiB\n", scenario.name, seconds() - start,
             (heap_bytes() - before) / 1048576);
}

void measure(const Workload& work, const std::string& source) {
  const Scenario scenario = load_scenario(source + "/scenarios/" + work.scenario, work.overrides);
  const double before = heap_bytes();
  const Plan plan = build_plan(scenario);
  const double plan_bytes = heap_bytes() - before;
  double planned = 0;
  for (const auto& program : plan.programs) planned += static_cast<double>(program.ops.size());
  for (const std::string solver : {"simgrid", "maxmin"}) {
    const double start = seconds();
    const Timeline timeline = simulate(scenario, plan, {work.fold, solver});
    const double took = seconds() - start;
    double operations = 0;
    for (const auto& rank : timeline.ranks) operations += static_cast<double>(rank.spans.size());
    fmt::print("{:<34} {:>8} {:>10.0f} {:>10} {:>8.3f} {:>8.2f} {:>8.2f} {:>8.0f}\n", work.name, solver, operations,
               timeline.activities, took, took / operations * 1e6,
               took / static_cast<double>(timeline.activities) * 1e6, plan_bytes / planned);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  fmt::print("{:<34} {:>8} {:>10} {:>10} {:>8} {:>8} {:>8} {:>8}\n", "workload", "solver", "operations", "activities",
             "s", "us/op", "us/act", "B/op");
  const std::string gpt3 = "gpt3-175b-a100-64-micro-batches.yaml";
  measure({"GPT-3, 1024 GPUs, folded", gpt3, {}, true}, argv[1]);
  measure({"GPT-3, 64 GPUs, every GPU",
           gpt3,
           {"topology.nodes=8", "strategy.pipeline.degree=2", "strategy.data.degree=4", "training.global_batch=64"},
           false},
          argv[1]);
  for (const char* name : {"gpt3-175b-a100", "llama-3-405b-interleaved"})
    measure_planning(std::string(argv[1]) + "/scenarios/" + name + ".yaml");
  return 0;
}
