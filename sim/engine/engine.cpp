#include "sim/engine/engine.h"

#include <fmt/format.h>

#include <bit>
#include <stdexcept>

#include "sim/engine/bounds.h"
#include "sim/engine/compile.h"
#include "sim/engine/fluid.h"
#include "sim/engine/run.h"

namespace trainwire {

namespace {

Solver solver_for(const Network& network, const std::string& wanted) {
  if (wanted == "simgrid") return Solver::simgrid;
  if (wanted == "maxmin") return Solver::maxmin;
  if (wanted != "auto") throw std::logic_error(fmt::format("no solver \"{}\": auto, simgrid or maxmin", wanted));
  std::size_t in_flight = network.ranks.size();
  std::vector<const Route*> routes;
  for (const SimGroup& group : network.groups) {
    in_flight += static_cast<std::size_t>(group.streams);
    for (const SimRoute& route : group.routes) routes.push_back(&route.binding);
  }
  return suitable_solver(in_flight, routes);
}

}  // namespace

Timeline simulate(const World& world, const SimulateOptions& options) {
  const Network network = compile(world, options.fold);
  const auto fluid = make_fluid(solver_for(network, options.solver));
  Timeline timeline = Run(network, *fluid).run();
  check_bounds(network, timeline);
  return timeline;
}

}  // namespace trainwire
