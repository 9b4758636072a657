// simulate() with everything it asks of other folders given: for tests and benchmarks.
#pragma once
#include "sim/engine/groups.h"
#include "sim/engine/simulate.h"

namespace trainwire {

Timeline simulate(const World&, const SimulateOptions&);

}  // namespace trainwire
