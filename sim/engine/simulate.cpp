#include "sim/engine/simulate.h"

#include "sim/cost/cost.h"
#include "sim/engine/engine.h"

namespace trainwire {

Timeline simulate(const Scenario& scenario, const Plan& plan, const SimulateOptions& options) {
  const Framework framework = scenario.training.framework;
  AlgorithmChoice choose;
  Pricing pricing{[framework](const Program& program, const Op& op, const DeviceSpec& device) {
                    return duration(program, op, device, framework);
                  },
                  [&](OpKind kind, Axis axis, std::span<const DeviceId> devices, double bytes,
                      const Topology& topology) -> const CollectiveAlgorithm& {
                    return choose(kind, devices, bytes, topology, scenario.collectives[static_cast<std::size_t>(axis)]);
                  }};
  if (framework != Framework::none)
    pricing.issue = [framework](const Program& program, const Op& op) {
      const HostCost cost = host_cost(program, op, framework);
      return Issue{cost.launch.value, cost.waits};
    };
  return simulate(World{plan, scenario.topology, scenario.placement, pricing}, options);
}

}  // namespace trainwire
