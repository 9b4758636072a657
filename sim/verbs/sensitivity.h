// What-ifs on one scenario by simulating it again.
#pragma once
#include <string>
#include <vector>

#include "sim/engine/simulate.h"

namespace trainwire {

// How the step changes when one class of hardware gets 10 % better, the most helpful first.
struct Sensitivity {
  std::string what;                    // "bandwidth of nic links"
  double step_time_s = 0, change = 0;  // change: relative, negative: faster
};
std::vector<Sensitivity> sensitivities(const Scenario&, const Plan&, const SimulateOptions&, double step_time_s);
std::string to_text(const std::vector<Sensitivity>&);
std::string to_csv(const std::vector<Sensitivity>&);

// Step times of scenario.jitter.runs runs with each device's speed drawn anew: log-normal around 1, seeded. Sorted.
std::vector<double> jittered_steps(const Scenario&, const Plan&, const SimulateOptions&);
std::string jitter_text(const Scenario&, const std::vector<double>& steps);

}  // namespace trainwire
