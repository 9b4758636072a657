// Which links can ever hold up a transfer. The others are left out of routes: each start or end of a transfer makes
// the solver look at everything that shares a link with it.
#pragma once
#include <span>
#include <vector>

#include "sim/engine/fluid.h"

namespace trainwire {

// Transfers of one group: one of the routes at a time on each of its `at_once` streams.
struct Load {
  std::vector<const Route*> routes;
  int at_once = 1;
};

// By link. Leaving out the others does not change any rate.
std::vector<bool> binding_links(std::span<const double> capacity, const std::vector<Load>& loads);

}  // namespace trainwire
