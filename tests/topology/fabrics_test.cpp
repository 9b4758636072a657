// Fabrics: which links traffic between hosts shares.
#include <map>

#include "tests/topology/support.h"

using namespace trainwire;
using Names = std::vector<std::string>;

TEST_CASE("a single switch adds no link") {
  CHECK(topology_of("{use: dgx-h100, nodes: 4}").links.size() == 4 * topology_of("dgx-h100").links.size());
}

TEST_CASE("the bisection of a leaf-spine fabric is half the ports' bandwidth over the oversubscription") {
  for (const int nodes : {4, 8, 16})
    for (const int per_leaf : {1, 2})
      for (const double over : {2.0, 4.0}) {
        const Topology t = topology_of("{use: dgx-h100, nodes: " + std::to_string(nodes) +
                                       ", fabric: {kind: leaf-spine, hosts_per_leaf: " + std::to_string(per_leaf) +
                                       ", oversubscription: " + std::to_string(over) + "}}");
        // Links that every device of the first half crosses to its partner in the second half.
        std::map<LinkId, double> crossing;
        const int half = nodes / 2 * 8;
        for (DeviceId d = 0; d < half; ++d)
          for (const LinkId link : t.route(d, half + d).links)
            if (const Link& l = t.links[static_cast<std::size_t>(link)];
                l.name.ends_with(".up") && l.kind == LinkClass::fabric)
              crossing[link] = l.bandwidth.value.value;
        double bisection = 0;
        for (const auto& [link, bandwidth] : crossing) bisection += bandwidth;
        CHECK(bisection == Approx(nodes / 2.0 * 8 * 50e9 / over));
      }
}

TEST_CASE("hosts under one leaf do not use its uplinks; without oversubscription there are none") {
  const Topology t =
      topology_of("{use: dgx-h100, nodes: 4, fabric: {kind: leaf-spine, hosts_per_leaf: 2, oversubscription: 4}}");
  CHECK(t.route(0, 8).links.size() == 2);
  CHECK(names_of(t, t.route(0, 16)) ==
        Names{"node0.nic0.transmit", "leaf0.spine0.up", "leaf1.spine0.down", "node2.nic0.receive"});
  const Topology flat = topology_of("{use: dgx-h100, nodes: 4, fabric: {kind: leaf-spine, hosts_per_leaf: 2}}");
  CHECK(flat.route(0, 16).links.size() == 2);
}

TEST_CASE("several spines cut a leaf's way up into equal parts, and a target keeps its spine") {
  const Topology t = topology_of(
      "{use: dgx-h100, nodes: 4, fabric: {kind: leaf-spine, hosts_per_leaf: 2, oversubscription: 2, spines: 4}}");
  CHECK(link_named(t, "leaf0.spine3.up").bandwidth.value.value == Approx(2 * 8 * 50e9 / 2 / 4));
  for (DeviceId target = 16; target < 32; ++target) {
    const auto via = t.route(0, target).links[1];
    for (DeviceId source = 1; source < 16; ++source) CHECK(t.route(source, target).links.size() == 4);
    CHECK(t.links[static_cast<std::size_t>(via)].name == "leaf0.spine" + std::to_string(target % 4) + ".up");
  }
}

TEST_CASE("on rails, traffic to another rail crosses NVLink first; on its own rail it does not") {
  const Topology t = topology_of("{use: dgx-h100, nodes: 2, fabric: rail}");
  CHECK(names_of(t, t.route(3, 8 + 3)) == Names{"node0.nic3.transmit", "node1.nic3.receive"});
  CHECK(names_of(t, t.route(3, 8 + 6)) ==
        Names{"node0.gpu3.nvlink.up", "node0.gpu6.nvlink.down", "node0.nic6.transmit", "node1.nic6.receive"});
  CHECK(names_of(t, t.route(3, 8 + 6, 3)) ==
        Names{"node0.nic3.transmit", "node1.nic3.receive", "node1.gpu3.nvlink.up", "node1.gpu6.nvlink.down"});
}

TEST_CASE("rails with a spine: only traffic between rails shares its links") {
  const Topology t = topology_of("{use: dgx-h100, nodes: 4, fabric: {kind: rail, spine: true, oversubscription: 4}}");
  CHECK(t.route(3, 8 + 3).links.size() == 2);
  CHECK(names_of(t, t.route(3, 8 + 6)) == Names{"node0.nic3.transmit", "rail3.up", "rail6.down", "node1.nic6.receive"});
  CHECK(link_named(t, "rail3.up").bandwidth.value.value == Approx(4 * 50e9 / 4));
}

TEST_CASE("a fabric given link by link routes over the fewest links") {
  const Topology t = topology_of(R"(
use: dgx-a100
nodes: 3
fabric:
  kind: graph
  switches: [s0, s1, s2]
  links:
    - {between: [node0, s0], bandwidth: {value: 200 GB/s, assumed: t}, latency: {value: 1 us, assumed: t}}
    - {between: [node1, s1], bandwidth: {value: 200 GB/s, assumed: t}, latency: {value: 1 us, assumed: t}}
    - {between: [node2, s2], bandwidth: {value: 200 GB/s, assumed: t}, latency: {value: 1 us, assumed: t}}
    - {between: [s0, s1], bandwidth: {value: 40 GB/s, assumed: t}, latency: {value: 1 us, assumed: t}}
    - {between: [s1, s2], bandwidth: {value: 40 GB/s, assumed: t}, latency: {value: 1 us, assumed: t}}
)");
  CHECK(names_of(t, t.route(0, 16)) ==
        Names{"node0.nic0.transmit", "node0-s0", "s0-s1", "s1-s2", "s2-node2", "node2.nic0.receive"});
  CHECK(t.route(16, 0).links.size() == 6);
}
