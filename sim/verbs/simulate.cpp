// trainwire simulate: predict a training step.
#include <fmt/format.h>

#include <fstream>

#include "sim/build/build.h"
#include "sim/engine/simulate.h"
#include "sim/result/report.h"
#include "sim/scenario/scenario.h"
#include "sim/verbs/memory_advice.h"
#include "sim/verbs/output.h"
#include "sim/verbs/sensitivity.h"

namespace trainwire {

void simulate_options(options::options_description& description) {
  auto add = description.add_options();
  add("strict", "exit status 1 when the plan does not fit in memory");
  add("no-fold", "simulate every rank, also those that nothing tells apart");
  add("solver", options::value<std::string>()->default_value("auto")->value_name("NAME"),
      "auto, simgrid (its own solver) or maxmin (ours)");
  add("sensitivity", "also simulate with 10 % more of each class of hardware");
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

// The answer in one sentence; what 10 % more would give; how much jitter spreads the step.
std::string further_answers(const Call& call, const Scenario& scenario, const Plan& plan, const SimulateOptions& chosen,
                            const Report& report, const std::filesystem::path& folder) {
  std::string text, gain;
  if (call.own.count("sensitivity") > 0) {
    const auto list = sensitivities(scenario, plan, chosen, report.step_time_s);
    text = to_text(list);
    std::ofstream(folder / "sensitivity.csv") << to_csv(list);
    if (!list.empty())
      gain = fmt::format("; what helps most is {}: 10 % more gives {:+.1f} %", list[0].what, 100 * list[0].change);
  }
  if (!report.bound_by.empty())
    text += fmt::format("bound by: {:.0f} % of the step is {}{}\n", 100 * report.bound_by[0].share,
                        report.bound_by[0].what, gain);
  if (scenario.jitter.spread > 0) text += jitter_text(scenario, jittered_steps(scenario, plan, chosen));
  return text;
}

// What to change, and, where simulating took little, what that costs in time.
void advise(const Call& call, const Scenario& scenario, const Report& report, const SimulateOptions& chosen) {
  constexpr double little_s = 5;
  std::function<double(const Scenario&, const Plan&)> seconds;
  if (report.wall_s < little_s)
    seconds = [&](const Scenario& s, const Plan& plan) { return simulate(s, plan, chosen).step_time_s; };
  for (const MemoryKnob& knob : memory_advice(call.positional[0], call.overrides, scenario, report.peak_bytes, seconds))
    fmt::print(stderr, "trainwire: {} {}\n",
               knob.peak_bytes <= report.capacity_bytes ? "this would fit:" : "this helps:",
               to_text(knob, report.peak_bytes, report.step_time_s));
}

}  // namespace

int simulate_verb(const Call& call) {
  const SimulateOptions chosen = read_options(call);
  const Scenario scenario = load_scenario(call.positional[0], call.overrides);
  const OutputFolder folder(output_path(call, scenario.file));
  Report report;
  std::string answers;
  {
    const Progress progress(call, fmt::format("simulating {} ranks", scenario.world_size()));
    const Plan plan = build_plan(scenario);
    const Timeline timeline = simulate(scenario, plan, chosen);
    report = measure(scenario, plan, timeline);
    report.wall_s = seconds_since_start();
    report = write_results(folder.path(), scenario, plan, timeline, report);
    answers = further_answers(call, scenario, plan, chosen, report, folder.path());
  }
  fmt::print("{}\n", call.json ? to_json(report) : to_summary(report) + answers);
  say(call, fmt::format("results: {}", folder.path().string()));
  if (!report.fits) {
    fmt::print(stderr, "trainwire: this plan DOES NOT FIT: {} a device are needed, {} are there\n",
               to_text(Bytes(report.peak_bytes)), to_text(Bytes(report.capacity_bytes)));
    advise(call, scenario, report, chosen);
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
