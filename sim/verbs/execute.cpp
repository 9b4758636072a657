// trainwire execute: run the plan for real.
#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "sim/build/build.h"
#include "sim/result/report.h"
#include "sim/scenario/scenario.h"
#include "sim/verbs/output.h"

#ifdef TRAINWIRE_HAS_CPU
#include "backend/cpu/execute.h"
#endif

namespace trainwire {

void execute_options(options::options_description& description) {
  auto add = description.add_options();
  add("backend", options::value<std::string>()->value_name("NAME"),
      "cpu or cuda; default: cuda if a GPU is there, else cpu");
  add("steps", options::value<int>()->value_name("N"), "measured steps (default: training.steps of the scenario)");
}

namespace {

void check_backend(const Call& call) {
  const std::string backend = call.own.count("backend") > 0 ? call.own["backend"].as<std::string>() : "cpu";
  if (backend == "cuda") throw UsageError("--backend cuda: this build has no CUDA backend. Use --backend cpu");
  if (backend != "cpu") throw UsageError(fmt::format("--backend {}: must be cpu or cuda", backend));
}

}  // namespace

#ifdef TRAINWIRE_HAS_CPU

namespace {

// All ranks share this machine's memory: a plan for a cluster is refused before it swaps the machine to death.
void check_memory(const Scenario& scenario, const Plan& plan) {
  std::vector<double> peak(plan.programs.size(), 0.0);
  for (const StageMemory& stage : memory_by_stage(plan)) {
    if (static_cast<std::size_t>(stage.stage) < peak.size()) peak[static_cast<std::size_t>(stage.stage)] = stage.peak;
  }
  double needed = 0;
  for (Rank r = 0; r < plan.mesh.size(); ++r) needed += peak[static_cast<std::size_t>(plan.program(r).stage)];
  const double here = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (needed <= 0.9 * here) return;
  Problems problems;
  problems.add({{scenario.file.string(), 0},
                "",
                "",
                fmt::format("its {} ranks together need {}, this machine has {} of memory", plan.mesh.size(),
                            to_text(Bytes(needed)), to_text(Bytes(here))),
                "Execute a smaller model or fewer ranks; `trainwire simulate` takes any size"});
  problems.throw_if_any();
}

}  // namespace

int execute_verb(const Call& call) {
  check_backend(call);
  const Scenario scenario = load_scenario(call.positional[0], call.overrides);
  cpu::check_executable(scenario);
  cpu::ExecuteOptions chosen;
  chosen.steps = call.own.count("steps") > 0 ? call.own["steps"].as<int>() : scenario.training.steps;
  if (chosen.steps < 1) throw UsageError(fmt::format("--steps {}: must be at least 1", chosen.steps));
  const bool first = cpu::world_rank() == 0;
  std::optional<OutputFolder> folder;
  if (first) folder.emplace(output_path(call, scenario.file));
  const Plan plan = build_plan(scenario);
  check_memory(scenario, plan);
  const int status = cpu::launch_ranks(scenario.world_size(), call.command);
  if (status >= 0) return status;

  const cpu::Result result = cpu::execute(scenario, plan, chosen);
  if (!first) return done;
  Report report = measure(scenario, plan, result.timeline);
  report.wall_s = seconds_since_start();
  report = write_results(folder->path(), scenario, plan, result.timeline, report);
  fmt::print("{}\n", call.json ? to_json(report) : to_summary(report));
  say(call, fmt::format("results: {}", folder->path().string()));
  return done;
}

#else

int execute_verb(const Call& call) {
  check_backend(call);
  throw UsageError(
      "this build cannot execute: it was made without MPI or Eigen. Install them (Debian, Ubuntu: apt install "
      "libopenmpi-dev openmpi-bin libeigen3-dev), then configure again with -DTRAINWIRE_MPI=ON and build");
}

#endif

}  // namespace trainwire
