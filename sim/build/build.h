// Scenario -> Plan: lower the model to operations, then the passes in one visible list (passes.cpp), verified each.
#pragma once
#include "sim/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace trainwire {

// Throws std::logic_error naming the pass when a pass leaves an unsound plan.
Plan build_plan(const Scenario&);

}  // namespace trainwire
