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
#include "backend/cuda/execute.h"
#include "backend/cuda/load.h"
#endif

namespace trainwire {

void execute_options(options::options_description& description) {
  auto add = description.add_options();
  add("backend", options::value<std::string>()->value_name("NAME"),
      "cpu or cuda; default: cuda if a GPU is there, else cpu");
  add("steps", options::value<int>()->value_name("N"), "measured steps (default: training.steps of the scenario)");
}

namespace {

// "" where the command does not say.
std::string backend_of(const Call& call) {
  const std::string backend = call.own.count("backend") > 0 ? call.own["backend"].as<std::string>() : "";
  if (!backend.empty() && backend != "cpu" && backend != "cuda")
    throw UsageError(fmt::format("--backend {}: must be cpu or cuda", backend));
  return backend;
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

namespace {

// One executor with what must be asked before ranks are started.
struct Backend {
  void (*check)(const Scenario&);
  Result (*execute)(const Scenario&, const Plan&, const ExecuteOptions&);
  bool shares_memory;  // ranks share this host's memory
};

// Said before a scenario is read: a GPU that is asked for and missing is a wrong command line.
void check_backend(const Call& call) {
  if (backend_of(call) != "cuda") return;
  const std::string missing = cuda::why_unavailable();
  if (!missing.empty()) throw UsageError("--backend cuda: " + missing);
}

// GPUs are the default where this host has one for each rank that it would start, or where ranks were started already.
Backend choose_backend(const Call& call, int ranks) {
  const std::string wanted = backend_of(call);
  const int gpus = wanted == "cpu" ? 0 : cuda::device_count();
  const bool enough = cpu::is_rank() ? gpus > 0 : gpus >= ranks;
  if (wanted == "cuda" || enough) return {cuda::check_executable, cuda::execute, false};
  if (gpus > 0)
    say(call, fmt::format("{} ranks and {} GPU{} here: executing on CPUs", ranks, gpus, gpus > 1 ? "s" : ""));
  return {cpu::check_executable, cpu::execute, true};
}

}  // namespace

int execute_verb(const Call& call) {
  check_backend(call);
  const Scenario scenario = load_scenario(call.positional[0], call.overrides);
  const Backend backend = choose_backend(call, scenario.world_size());
  backend.check(scenario);
  ExecuteOptions chosen;
  chosen.measure_overhead = true;
  chosen.steps = call.own.count("steps") > 0 ? call.own["steps"].as<int>() : scenario.training.steps;
  if (chosen.steps < 1) throw UsageError(fmt::format("--steps {}: must be at least 1", chosen.steps));
  const bool first = cpu::world_rank() == 0;
  std::optional<OutputFolder> folder;
  if (first) folder.emplace(output_path(call, scenario.file));
  const Plan plan = build_plan(scenario);
  if (backend.shares_memory) check_memory(scenario, plan);
  const int status = cpu::launch_ranks(scenario.world_size(), call.command);
  if (status >= 0) return status;

  const Result result = backend.execute(scenario, plan, chosen);
  if (!first) return done;
  Report report = measure(scenario, plan, result.timeline);
  report.wall_s = seconds_since_start();
  report = write_results(folder->path(), scenario, plan, result.timeline, report);
  fmt::print("{}\n", call.json ? to_json(report) : to_summary(report));
  for (const std::string& note : result.timeline.notes) say(call, note);
  say(call, fmt::format("results: {}", folder->path().string()));
  return done;
}

#else

int execute_verb(const Call& call) {
  backend_of(call);
  throw UsageError(
      "this build cannot execute: it was made without MPI or Eigen. Install them (Debian, Ubuntu: apt install "
      "libopenmpi-dev openmpi-bin libeigen3-dev), then configure again with -DTRAINWIRE_MPI=ON and build");
}

#endif

}  // namespace trainwire
