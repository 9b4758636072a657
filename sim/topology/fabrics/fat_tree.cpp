// A fat tree of k-port switches (Al-Fares, Loukissas, Vahdat, SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation
// switches, (k/2)² core switches, up to k³/4 host ports. All links are as fast as a port. Ports fill edges in order of
// their number; between pods there are (k/2)² ways.
#include <fmt/format.h>

#include "sim/topology/shelf.h"

namespace trainwire {
namespace {

struct FatTree {
  int half = 1, nics = 1;
  LinkId edge_links = 0, core_links = 0;  // first of each

  int index(Port p) const { return p.node * nics + p.nic; }
  int edge(Port p) const { return index(p) / half; }
  int pod(Port p) const { return edge(p) / half; }
  // Between an edge switch and the aggregation switch `a` of its pod; +1: down.
  LinkId edge_link(int edge_switch, int a) const { return edge_links + 2 * (edge_switch * half + a); }
  // Between aggregation switch `a` of a pod and its core switch `c`.
  LinkId core_link(int pod_number, int a, int c) const { return core_links + 2 * ((pod_number * half + a) * half + c); }

  int ways(Port from, Port to) const {
    if (edge(from) == edge(to)) return 1;
    return pod(from) == pod(to) ? half : half * half;
  }
  bool route(Port from, Port to, int way, std::vector<LinkId>& links) const {
    if (edge(from) == edge(to)) return true;
    const int a = way % half, c = way / half;
    links.push_back(edge_link(edge(from), a));
    if (pod(from) != pod(to)) {
      links.push_back(core_link(pod(from), a, c));
      links.push_back(core_link(pod(to), a, c) + 1);
    }
    links.push_back(edge_link(edge(to), a) + 1);
    return true;
  }
};

}  // namespace

FabricRoutes build_fat_tree(Reader& fabric, FabricPlace& place) {
  const auto k = static_cast<int>(fabric.require_integer("k", 2, 128));
  Link wire = place.nic;
  wire.kind = LinkClass::fabric;
  wire.latency = {Seconds(0.5e-6), Origin::assumed, "a further switch and cable"};
  if (fabric.has("latency")) wire.latency = require_quantity<Seconds>(fabric, "latency");
  if (k % 2 != 0) {
    fabric.fail("k", "must be even: half of a switch's ports lead up");
    return {};
  }
  FatTree tree{k / 2, place.nics, 0, 0};
  const int ports = place.nodes * place.nics, most = k * k * k / 4;
  if (ports > most) {
    fabric.fail("k",
                fmt::format("gives {} ports, but {} nodes with {} each need {}", most, place.nodes, place.nics, ports),
                "Take more ports a switch, or fewer nodes");
    return {};
  }
  tree.edge_links = static_cast<LinkId>(place.topology.links.size());
  for (int edge = 0; edge < k * tree.half; ++edge)
    for (int a = 0; a < tree.half; ++a)
      for (const char* direction : {"up", "down"})
        place.add_link(fmt::format("edge{}.agg{}.{}", edge, a, direction), wire);
  tree.core_links = static_cast<LinkId>(place.topology.links.size());
  for (int pod = 0; pod < k; ++pod)
    for (int a = 0; a < tree.half; ++a)
      for (int c = 0; c < tree.half; ++c)
        for (const char* direction : {"up", "down"})
          place.add_link(fmt::format("pod{}.agg{}.core{}.{}", pod, a, a * tree.half + c, direction), wire);
  return {[tree](Port from, Port to, int way, std::vector<LinkId>& links) { return tree.route(from, to, way, links); },
          [tree](Port from, Port to) { return tree.ways(from, to); }};
}

}  // namespace trainwire
