// Rail-optimised: port i of every host is on switch i. Traffic between rails crosses inside a host first (NCCL's PXN),
// or over a spine where one is given: `spine: true` with `oversubscription` of each rail switch's way up. With
// `planes: 2` each rail is two switches of half the way up each, and each message takes one of them.
#include <string>

#include "sim/topology/shelf.h"

namespace trainwire {

FabricRoutes build_rail(Reader& fabric, FabricPlace& place) {
  const bool spine = fabric.flag("spine", false);
  const double oversubscription = fabric.number("oversubscription", 1.0, 1.0, 1000.0);
  const auto planes = static_cast<int>(fabric.integer("planes", 1, 1, 8));
  Link up = place.nic;
  up.kind = LinkClass::fabric;
  up.bandwidth.value = place.nic.bandwidth.value * (place.nodes / oversubscription / planes);
  up.bandwidth.source = "a rail's ports / oversubscription / planes; port: " + place.nic.bandwidth.source.str();
  up.latency = {Seconds(0.5e-6), Origin::assumed, "a further switch and cable"};
  if (fabric.has("latency")) up.latency = require_quantity<Seconds>(fabric, "latency");
  if (!spine && planes == 1)
    return {[](Port from, Port to, int, std::vector<LinkId>&) { return from.nic == to.nic; }, {}, true};
  if (spine && oversubscription <= 1.0 && planes == 1) return build_single_switch(fabric, place);
  const auto first = static_cast<LinkId>(place.topology.links.size());
  for (int rail = 0; rail < place.nics; ++rail)
    for (int plane = 0; plane < planes; ++plane)
      for (const char* direction : {".up", ".down"})
        place.add_link("rail" + std::to_string(rail) + (planes > 1 ? ".plane" + std::to_string(plane) : "") + direction,
                       up);
  const auto route = [=](Port from, Port to, int plane, std::vector<LinkId>& links) {
    if (from.nic == to.nic && planes == 1) return true;
    if (from.nic != to.nic && !spine) return false;
    links.push_back(first + 2 * (from.nic * planes + plane));
    links.push_back(first + 2 * (to.nic * planes + plane) + 1);
    return true;
  };
  return {route, [=](Port, Port) { return planes; }, !spine};
}

}  // namespace trainwire
