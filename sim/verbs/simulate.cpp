// trainwire simulate: predict a training step.
#include <fmt/format.h>

#include "sim/build/build.h"
#include "sim/engine/simulate.h"
#include "sim/result/report.h"
#include "sim/scenario/scenario.h"
#include "sim/verbs/output.h"

namespace trainwire {

void simulate_options(options::options_description& description) {
  auto add = description.add_options();
  add("strict", "exit status 1 when the plan does not fit in memory");
  add("no-fold", "simulate every rank, also those that nothing tells apart");
  add("solver", options::value<std::string>()->default_value("auto")->value_name("NAME"),
      "auto, simgrid (its own solver) or maxmin (ours)");
}

#ifdef TRAINWIRE_HAS_SIMGRID

namespace {

SimulateOptions read_options(const Call& call) {
  SimulateOptions chosen;
  chosen.fold = call.own.count("no-fold") == 0;
  chosen.solver = call.own["solver"].as<std::string>();
  if (chosen.solver != "auto" && chosen.solver != "simgrid" && chosen.solver != "maxmin") {
    throw UsageError(fmt::format("--solver {}: must be auto, simgrid or maxmin", chosen.solver));
  }
  return chosen;
}

}  // namespace

int simulate_verb(const Call& call) {
  const SimulateOptions chosen = read_options(call);
  const Scenario scenario = load_scenario(call.positional[0], call.overrides);
  const OutputFolder folder(output_path(call, scenario.file));
  Report report;
  {
    const Progress progress(call, fmt::format("simulating {} ranks", scenario.world_size()));
    const Plan plan = build_plan(scenario);
    const Timeline timeline = simulate(scenario, plan, chosen);
    report = measure(scenario, plan, timeline);
    report.wall_s = seconds_since_start();
    report = write_results(folder.path(), scenario, plan, timeline, report);
  }
  fmt::print("{}\n", call.json ? to_json(report) : to_summary(report));
  say(call, fmt::format("results: {}", folder.path().string()));
  if (!report.fits) {
    fmt::print(stderr, "trainwire: this plan DOES NOT FIT: {} a device are needed, {} are there\n",
               to_text(Bytes(report.peak_bytes)), to_text(Bytes(report.capacity_bytes)));
    if (call.own.count("strict") > 0) return failed;
  }
  return done;
}

#else

int simulate_verb(const Call&) {
  throw UsageError(
      "this build cannot simulate: it was made without SimGrid. Install it (Debian, Ubuntu: apt install "
      "libsimgrid-dev), "
      "then configure again with -DTRAINWIRE_SIMGRID=ON and build");
}

#endif

}  // namespace trainwire
