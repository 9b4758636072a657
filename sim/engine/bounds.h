// What no step can beat, whatever the contention: a result that does is an error, not a number.
#pragma once
#include "sim/engine/compile.h"
#include "sim/result/timeline.h"

namespace trainwire {

// Throws std::logic_error where a rank ended before its computing alone takes, or a link carried more than it can.
void check_bounds(const Network&, const Timeline&);

}  // namespace trainwire
