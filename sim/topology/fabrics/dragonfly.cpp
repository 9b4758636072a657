// Dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): groups of routers that are all joined to each other; each pair of
// groups is joined by one global link. Hosts fill routers, `hosts_per_router` each. Minimal routes first; the further
// ways go through another group (Valiant).
//   fabric: {kind: dragonfly, routers: 4, hosts_per_router: 2}     groups: as many as the nodes need, or `groups:`
#include <fmt/format.h>

#include <algorithm>

#include "sim/topology/shelf.h"

namespace trainwire {
namespace {

struct Dragonfly {
  int groups = 1, routers = 1, hosts = 1;
  LinkId local = 0, global = 0;  // first of each

  LinkId local_link(int group, int a, int b) const { return local + (group * routers + a) * routers + b; }
  LinkId global_link(int a, int b) const { return global + a * groups + b; }
  // The router of group `a` with the global link to group `b`.
  int gate(int a, int b) const { return (b < a ? b : b - 1) % routers; }

  void inside(int group, int from, int to, std::vector<LinkId>& links) const {
    if (from != to) links.push_back(local_link(group, from, to));
  }
  // From a router of one group to the gate of another; returns that gate.
  int cross(int from_group, int router, int to_group, std::vector<LinkId>& links) const {
    inside(from_group, router, gate(from_group, to_group), links);
    links.push_back(global_link(from_group, to_group));
    return gate(to_group, from_group);
  }
  int ways(Port from, Port to) const {
    return from.node / (hosts * routers) == to.node / (hosts * routers) || groups < 3 ? 1 : groups - 1;
  }
  bool route(Port from, Port to, int way, std::vector<LinkId>& links) const {
    const int source = from.node / hosts, target = to.node / hosts;
    const int a = source / routers, b = target / routers;
    int router = source % routers;
    if (a != b && way > 0) {
      int through = way - 1;
      if (through >= std::min(a, b)) ++through;
      if (through >= std::max(a, b)) ++through;
      router = cross(a, router, through, links);
      router = cross(through, router, b, links);
    } else if (a != b) {
      router = cross(a, router, b, links);
    }
    inside(b, router, target % routers, links);
    return true;
  }
};

}  // namespace

FabricRoutes build_dragonfly(Reader& fabric, FabricPlace& place) {
  Dragonfly d;
  d.routers = static_cast<int>(fabric.require_integer("routers", 1, 256));
  d.hosts = static_cast<int>(fabric.integer("hosts_per_router", 1, 1, 1024));
  const int per_group = d.routers * d.hosts;
  const int needed = (place.nodes + per_group - 1) / per_group;
  d.groups = static_cast<int>(fabric.integer("groups", needed, 1, 1024));
  Link wire = place.nic;
  wire.kind = LinkClass::fabric;
  wire.latency = {Seconds(0.5e-6), Origin::assumed, "a further switch and cable"};
  if (fabric.has("local")) wire = read_link(fabric, "local", LinkClass::fabric);
  Link far = wire;
  if (fabric.has("global")) far = read_link(fabric, "global", LinkClass::fabric);
  if (d.groups < needed) {
    fabric.fail("groups",
                fmt::format("of {} hosts are too few for {} nodes: {} are needed", per_group, place.nodes, needed));
    return {};
  }
  d.local = static_cast<LinkId>(place.topology.links.size());
  for (int group = 0; group < d.groups; ++group)
    for (int a = 0; a < d.routers; ++a)
      for (int b = 0; b < d.routers; ++b) place.add_link(fmt::format("group{}.router{}-router{}", group, a, b), wire);
  d.global = static_cast<LinkId>(place.topology.links.size());
  for (int a = 0; a < d.groups; ++a)
    for (int b = 0; b < d.groups; ++b) place.add_link(fmt::format("group{}-group{}", a, b), far);
  FabricRoutes routes{
      [d](Port from, Port to, int way, std::vector<LinkId>& links) { return d.route(from, to, way, links); },
      [d](Port from, Port to) { return d.ways(from, to); }};
  routes.minimal_first = true;
  return routes;
}

}  // namespace trainwire
