#include "sim/engine/simulate.h"

#include "sim/cost/cost.h"
#include "sim/engine/engine.h"

namespace trainwire {

Timeline simulate(const Scenario& scenario, const Plan& plan, const SimulateOptions& options) {
  const Pricing pricing{duration, choose_algorithm};
  return simulate(World{plan, scenario.topology, scenario.placement, pricing}, options);
}

}  // namespace trainwire
