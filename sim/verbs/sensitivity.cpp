#include "sim/verbs/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "sim/topology/disturb.h"

namespace trainwire {

#ifdef TRAINWIRE_HAS_SIMGRID

std::vector<Sensitivity> sensitivities(const Scenario& scenario, const Plan& plan, const SimulateOptions& options,
                                       double step_time_s) {
  constexpr double better = 1.1;
  std::vector<Sensitivity> result;
  const auto add = [&](const std::string& what, const std::function<void(Topology&)>& change) {
    Scenario changed = scenario;
    change(changed.topology);
    const double seconds = simulate(changed, plan, options).step_time_s;
    result.push_back({what, seconds, seconds / step_time_s - 1});
  };
  add("speed of all devices", [&](Topology& t) {
    for (DeviceSpec& spec : t.specs) set_speed(spec, better);
  });
  std::set<LinkClass> classes;
  for (const Link& link : scenario.topology.links) classes.insert(link.kind);
  for (const LinkClass kind : classes) {
    add(fmt::format("bandwidth of {} links", to_text(kind)), [&](Topology& t) {
      for (Link& link : t.links)
        if (link.kind == kind) link.bandwidth.value = link.bandwidth.value * better;
    });
    add(fmt::format("latency of {} links", to_text(kind)), [&](Topology& t) {
      for (Link& link : t.links)
        if (link.kind == kind) link.latency.value = link.latency.value / better;
    });
  }
  std::stable_sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.change < b.change; });
  return result;
}

std::vector<double> jittered_steps(const Scenario& scenario, const Plan& plan, const SimulateOptions& options) {
  std::vector<double> steps;
  for (int run = 0; run < scenario.jitter.runs; ++run) {
    Scenario changed = scenario;
    std::mt19937_64 random(scenario.jitter.seed * 1'000'003 + static_cast<std::uint64_t>(run));
    std::normal_distribution<double> normal(0, scenario.jitter.spread);
    for (std::size_t d = 0; d < changed.topology.devices.size(); ++d)
      set_speed(changed.topology, static_cast<DeviceId>(d), std::exp(normal(random)));
    steps.push_back(simulate(changed, plan, options).step_time_s);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

#endif

std::string to_text(const std::vector<Sensitivity>& list) {
  std::string text = "10 % more of each, simulated again\n";
  for (const Sensitivity& s : list)
    text += fmt::format("  {:<48} {:+6.2f} %  {}\n", s.what, 100 * s.change, to_text(Seconds(s.step_time_s)));
  return text;
}

std::string to_csv(const std::vector<Sensitivity>& list) {
  std::string text = "what,step_time_s,change\n";
  for (const Sensitivity& s : list) text += fmt::format("{},{:.9g},{:.6g}\n", s.what, s.step_time_s, s.change);
  return text;
}

std::string jitter_text(const Scenario& scenario, const std::vector<double>& steps) {
  const auto percentile = [&](double p) {  // nearest rank
    const auto at = static_cast<std::size_t>(std::ceil(p * static_cast<double>(steps.size())));
    return to_text(Seconds(steps[std::clamp<std::size_t>(at, 1, steps.size()) - 1]));
  };
  return fmt::format("with {:.3g} % jitter of each device's speed, {} runs from seed {}: p50 {}, p95 {}, worst {}\n",
                     100 * scenario.jitter.spread, steps.size(), scenario.jitter.seed, percentile(0.5),
                     percentile(0.95), percentile(1));
}

}  // namespace trainwire
