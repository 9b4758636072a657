// Fat trees, dragonflies, tori, planes; which way messages take; what failures do to routes.
#include <algorithm>
#include <map>
#include <set>

#include "sim/topology/disturb.h"
#include "tests/topology/support.h"

using namespace trainwire;

namespace {

std::string with_fabric(const std::string& fabric, int nodes, const std::string& use = "dgx-h100, devices: 1") {
  return "{use: " + use + ", nodes: " + std::to_string(nodes) + ", fabric: {" + fabric + "}}";
}

// Links that messages between all pairs of devices cross, by class.
std::map<LinkId, int> crossings(const Topology& t) {
  std::map<LinkId, int> count;
  const auto n = static_cast<DeviceId>(t.devices.size());
  for (DeviceId a = 0; a < n; ++a)
    for (DeviceId b = 0; b < n; ++b)
      if (a != b)
        for (const LinkId l : t.route(a, b).links) ++count[l];
  return count;
}

}  // namespace

TEST_CASE("a fat tree of k-port switches has room for k^3/4 ports, two, four or six links apart") {
  // 8 ports a host: k = 8 has 128 ports, 16 hosts; 4 ports an edge switch, 16 a pod.
  const Topology t = topology_of(with_fabric("kind: fat-tree, k: 8", 16));
  std::set<std::size_t> fabric_links;
  for (DeviceId b = 1; b < 16; ++b) {
    std::size_t links = 0;
    for (const LinkId l : t.route(0, b).links) links += t.links[static_cast<std::size_t>(l)].kind == LinkClass::fabric;
    fabric_links.insert(links);
  }
  CHECK(fabric_links == std::set<std::size_t>{2, 4});  // the same pod, another pod
  CHECK_THAT(messages_of(with_fabric("kind: fat-tree, k: 8", 17)), contains("gives 128 ports"));
  CHECK_THAT(messages_of(with_fabric("kind: fat-tree, k: 5", 2)), contains("must be even"));
}

TEST_CASE("spreading by port number is even in a fat tree, hashing is not, and a seed fixes it") {
  const auto most = [](const std::string& more) {
    const Topology t = topology_of(with_fabric("kind: leaf-spine, hosts_per_leaf: 4, spines: 8" + more, 16));
    int highest = 0;
    for (const auto& [link, count] : crossings(t))
      if (t.links[static_cast<std::size_t>(link)].kind == LinkClass::fabric) highest = std::max(highest, count);
    return highest;
  };
  CHECK(most(", hash: 7") == most(", hash: 7"));
  CHECK(most(", hash: 7") < most(""));  // one GPU a host uses port 0 alone: all on one spine by number
}

TEST_CASE("a dragonfly crosses at most one global link") {
  const Topology t = topology_of(with_fabric("kind: dragonfly, routers: 3, hosts_per_router: 2", 18));
  for (DeviceId b = 1; b < 18; ++b) {
    int global = 0, all = 0;
    for (const LinkId l : t.route(0, b).links) {
      const std::string& name = t.links[static_cast<std::size_t>(l)].name;
      all += t.links[static_cast<std::size_t>(l)].kind == LinkClass::fabric;
      global += name.starts_with("group") && name.find("router") == std::string::npos;
    }
    CHECK(global == (b >= 6 ? 1 : 0));
    CHECK(all <= 3);
  }
  CHECK_THAT(messages_of(with_fabric("kind: dragonfly, routers: 2, groups: 2", 9)), contains("5 are needed"));
}

TEST_CASE("in a torus the way is the sum of the shorter ways around") {
  const Topology t = topology_of(
      "{host: {kind: torus, gpus: 24, gpu: h100-sxm, size: [4, 3, 2], link: {bandwidth: {value: 50 GB/s, assumed: t}, "
      "latency: {value: 1 us, assumed: t}}}}");
  for (int a = 0; a < 24; ++a)
    for (int b = 0; b < 24; ++b) {
      const auto around = [](int x, int y, int n) { return std::min((x - y + n) % n, (y - x + n) % n); };
      const int hops = around(a % 4, b % 4, 4) + around(a / 4 % 3, b / 4 % 3, 3) + around(a / 12, b / 12, 2);
      CHECK(static_cast<int>(t.route(a, b).links.size()) == hops);
    }
  CHECK_THAT(
      messages_of("{host: {kind: torus, gpus: 9, gpu: h100-sxm, size: [4, 2], link: {bandwidth: {value: 50 GB/s, "
                  "assumed: t}, latency: {value: 1 us, assumed: t}}}}"),
      contains("whose product is gpus = 9"));
}

TEST_CASE("rails with two planes have each port on either plane") {
  const Topology t = topology_of(with_fabric("kind: rail, planes: 2", 8, "dgx-h100"));
  std::set<std::string> planes;
  for (int node = 1; node < 8; ++node)
    for (const LinkId l : t.route(0, 8 * node).links)
      if (const auto& name = t.links[static_cast<std::size_t>(l)].name; name.starts_with("rail")) planes.insert(name);
  CHECK(planes.size() >= 2);
}

TEST_CASE("messages go around a failed link where there is a way, and the rest stays where it was") {
  Topology t = topology_of(with_fabric("kind: leaf-spine, hosts_per_leaf: 2, spines: 4", 4, "dgx-h100"));
  const Topology whole = t;
  CHECK(fail_links(t, links_named(t, "leaf0.spine0")).empty());
  for (DeviceId a = 0; a < 32; ++a)
    for (DeviceId b = 0; b < 32; ++b) {
      const auto now = t.route(a, b).links, before = whole.route(a, b).links;
      for (const LinkId l : now) CHECK(!t.links[static_cast<std::size_t>(l)].name.starts_with("leaf0.spine0"));
      const bool crossed = std::any_of(before.begin(), before.end(), [&](LinkId l) {
        return whole.links[static_cast<std::size_t>(l)].name.starts_with("leaf0.spine0");
      });
      if (!crossed) CHECK(now == before);
    }
  // Another port of the host serves a GPU whose own one failed.
  Topology port = topology_of("{use: dgx-h100, nodes: 2}");
  CHECK(fail_links(port, links_named(port, "node0.nic3")).empty());
  for (const LinkId l : port.route(3, 11).links)
    CHECK(!port.links[static_cast<std::size_t>(l)].name.starts_with("node0.nic3"));
}

TEST_CASE("a failed link that cuts the cluster says who cannot reach whom") {
  Topology t = topology_of("{use: dgx-h100, nodes: 2}");
  CHECK_THAT(fail_links(t, links_named(t, "node0.gpu3.nvlink")), contains("node0.gpu3"));
  Topology one = topology_of("{use: pcie-4x3090, nodes: 2}");
  CHECK_THAT(fail_links(one, links_named(one, "node1.nic0")), contains("cannot reach"));
}
