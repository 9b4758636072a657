// Rail-optimised: port i of every host is on switch i. Traffic between rails crosses inside a host first (NCCL's PXN),
// or over a spine where one is given: `spine: true` with `oversubscription` of each rail switch's way up.
#include <string>

#include "sim/topology/shelf.h"

namespace trainwire {

FabricRoutes build_rail(Reader& fabric, FabricPlace& place) {
  const bool spine = fabric.flag("spine", false);
  const double oversubscription = fabric.number("oversubscription", 1.0, 1.0, 1000.0);
  Link up = place.nic;
  up.kind = LinkClass::fabric;
  up.bandwidth.value = place.nic.bandwidth.value * (place.nodes / oversubscription);
  up.bandwidth.source = "a rail's ports / oversubscription; port: " + place.nic.bandwidth.source.str();
  up.latency = {Seconds(0.5e-6), Origin::assumed, "a further switch and cable"};
  if (fabric.has("latency")) up.latency = require_quantity<Seconds>(fabric, "latency");
  if (!spine) return {[](Port from, Port to, std::vector<LinkId>&) { return from.nic == to.nic; }, true};
  if (oversubscription <= 1.0) return build_single_switch(fabric, place);
  const auto first = static_cast<LinkId>(place.topology.links.size());
  for (int rail = 0; rail < place.nics; ++rail)
    for (const char* direction : {".up", ".down"}) place.add_link("rail" + std::to_string(rail) + direction, up);
  return {[first](Port from, Port to, std::vector<LinkId>& links) {
    if (from.nic == to.nic) return true;
    links.push_back(first + 2 * from.nic);
    links.push_back(first + 2 * to.nic + 1);
    return true;
  }};
}

}  // namespace trainwire
