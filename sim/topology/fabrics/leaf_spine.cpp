// Hosts under leaf switches, leaves under spines. A leaf's way up carries its hosts' ports divided by
// `oversubscription`, cut into `spines` equal uplinks; a flow takes the one of its target port's number (d-mod-k
// routing) or, with `hash: SEED`, a random one. One spine stands for perfect balance. At oversubscription 1 and one
// spine the way up never binds, so there is no link. Bisection bandwidth of evenly filled leaves: nodes / 2 · ports ·
// port bandwidth / oversubscription.
#include <string>

#include "sim/topology/shelf.h"

namespace trainwire {

FabricRoutes build_leaf_spine(Reader& fabric, FabricPlace& place) {
  const auto per_leaf = static_cast<int>(fabric.require_integer("hosts_per_leaf", 1, 4096));
  const double oversubscription = fabric.number("oversubscription", 1.0, 1.0, 1000.0);
  const auto spines = static_cast<int>(fabric.integer("spines", 1, 1, 1024));
  Link up = place.nic;
  up.kind = LinkClass::fabric;
  up.bandwidth.value = place.nic.bandwidth.value * (per_leaf * place.nics / oversubscription / spines);
  up.bandwidth.source =
      std::to_string(per_leaf) + " hosts' ports / oversubscription / spines; port: " + place.nic.bandwidth.source.str();
  up.latency = {Seconds(0.5e-6), Origin::assumed, "a further switch and cable"};
  if (fabric.has("latency")) up.latency = require_quantity<Seconds>(fabric, "latency");
  if (oversubscription <= 1.0 && spines == 1) return build_single_switch(fabric, place);
  const int leaves = (place.nodes + per_leaf - 1) / per_leaf;
  const auto first = static_cast<LinkId>(place.topology.links.size());
  for (int leaf = 0; leaf < leaves; ++leaf)
    for (int spine = 0; spine < spines; ++spine)
      for (const char* direction : {".up", ".down"})
        place.add_link("leaf" + std::to_string(leaf) + ".spine" + std::to_string(spine) + direction, up);
  const auto route = [=](Port from, Port to, int spine, std::vector<LinkId>& links) {
    const int source = from.node / per_leaf, target = to.node / per_leaf;
    if (source == target) return true;
    links.push_back(first + 2 * (source * spines + spine));
    links.push_back(first + 2 * (target * spines + spine) + 1);
    return true;
  };
  return {route, [=](Port, Port) { return spines; }};
}

}  // namespace trainwire
