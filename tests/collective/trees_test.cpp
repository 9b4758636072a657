// Trees, in-switch reduction, the hierarchical all-reduce, protocols, and the choice among them.
#include <algorithm>
#include <map>
#include <numeric>

#include "sim/collective/collective.h"
#include "sim/collective/protocol.h"
#include "sim/collective/steps.h"
#include "sim/collective/trees.h"
#include "tests/topology/support.h"

using namespace trainwire;

namespace {

std::vector<DeviceId> first(int count) {
  std::vector<DeviceId> devices(static_cast<std::size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

Flow flow(const std::string& name, OpKind kind, const std::vector<DeviceId>& devices, double bytes, const Topology& t) {
  const CollectiveAlgorithm& row = choose_algorithm(kind, devices, bytes, t, name);
  REQUIRE(row.name == name);
  return row.flow(kind, devices, bytes, t);
}

// A step list played round by round, all messages of a round at once, each link with all that cross it: seconds.
double step_by_step(const StepList& list, const std::vector<DeviceId>& devices, double bytes, const Topology& t) {
  double seconds = 0;
  for (int round = 0; round < list.rounds; ++round) {
    std::map<LinkId, double> load;
    double latency = 0, busiest = 0;
    for (const Step& step : list.steps) {
      if (step.round != round) continue;
      const Path path =
          t.route(devices[static_cast<std::size_t>(step.from)], devices[static_cast<std::size_t>(step.to)]);
      latency = std::max(latency, t.latency(path).value);
      for (const LinkId l : path.links) load[l] += bytes / list.chunks;
    }
    for (const auto& [l, carried] : load)
      busiest = std::max(busiest, carried / t.links[static_cast<std::size_t>(l)].effective());
    seconds += latency + busiest;
  }
  return seconds;
}

}  // namespace

TEST_CASE("in the double binary tree all reach the root, nobody has more than two children, leaves of one are inner") {
  for (int n = 1; n <= 33; ++n) {
    const auto trees = double_binary_tree(n);
    std::vector<int> inner(static_cast<std::size_t>(n));
    for (const BinaryTree& tree : trees) {
      std::vector<int> children(static_cast<std::size_t>(n));
      int roots = 0;
      for (int m = 0; m < n; ++m) {
        const int parent = tree.parent[static_cast<std::size_t>(m)];
        if (parent < 0)
          ++roots;
        else
          ++children[static_cast<std::size_t>(parent)];
        CHECK(tree.depth_of(m) <= tree.depth);
      }
      CHECK(roots == 1);
      CHECK(*std::max_element(children.begin(), children.end()) <= 2);
      for (std::size_t m = 0; m < children.size(); ++m) inner[m] += children[m] > 0 ? 1 : 0;
      // No deeper than the logarithm and one.
      CHECK((1 << std::max(0, tree.depth - 1)) <= n);
    }
    if (n > 2 && n % 2 == 0) CHECK(*std::max_element(inner.begin(), inner.end()) <= 1);
  }
}

TEST_CASE("what a flow takes is what its steps take one after the other, alone") {
  // Without NCCL's protocols: CPUs have none, so these links stand for themselves.
  const Topology t = topology_of("{host: {kind: graph, gpus: 17, gpu: h100-sxm, switches: [s], links: [" + [] {
    std::string links;
    for (int i = 0; i < 17; ++i)
      links += "{between: [gpu" + std::to_string(i) +
               ", s], bandwidth: {value: 100 GB/s, assumed: t}, latency: {value: 1 us, assumed: t}},";
    return links;
  }() + "]}}");
  for (int n = 2; n <= 17; ++n)
    for (const double bytes : {4e3, 1e6, 64e6}) {
      CAPTURE(n, bytes);
      const double tolerance = bytes > (1 << 20) ? 0.01 : 0.05;
      const auto devices = first(n);
      // The ring's own price, with Simple's base and the wire taken as they are.
      Flow ring = flow("ring", OpKind::all_reduce, devices, bytes, t);
      for (const Protocol& p : protocols())
        if (ring.protocol == p.name) {
          ring.latency = (ring.latency - p.base * start_scale(devices, t)) / p.hop;
          ring.bytes *= p.wire;
        }
      const auto steps = [&](const char* name) {
        for (const auto& row : algorithms())
          if (row.name == std::string(name)) return row.steps(OpKind::all_reduce, n);
        throw std::logic_error(name);
      };
      CHECK(alone(ring, t).value == Approx(step_by_step(steps("ring"), devices, bytes, t)).epsilon(tolerance));
      if ((n & (n - 1)) == 0)
        CHECK(alone(flow("halving-doubling", OpKind::all_reduce, devices, bytes, t), t).value ==
              Approx(step_by_step(steps("halving-doubling"), devices, bytes, t)).epsilon(tolerance));
      const Flow direct = flow("direct", OpKind::all_to_all, devices, bytes, t);
      CHECK(alone(direct, t).value ==
            Approx(step_by_step(direct_steps(OpKind::all_to_all, n), devices, bytes, t)).epsilon(tolerance));
    }
}

TEST_CASE("a tree moves the whole buffer twice over each node's ports and takes logarithmically many hops") {
  const Topology t = topology_of("{use: dgx-a100, nodes: 16}");
  const double bytes = 1e9;
  const Flow tree = flow("tree", OpKind::all_reduce, first(128), bytes, t);
  double busiest = 0;
  for (const auto& [link, weight] : tree.links)
    if (t.links[static_cast<std::size_t>(link)].kind == LinkClass::nic)
      busiest = std::max(busiest, weight * tree.bytes);
  // Inner in one tree (two children, one parent), leaf in the other: 4 edges of half of a channel's eighth.
  CHECK(busiest <= 2 * bytes / 8 * 1.0001);
  CHECK(busiest >= 1.5 * bytes / 8);
}

TEST_CASE("small all-reduces over many hosts take a tree, large ones what has more bandwidth") {
  const Topology t = topology_of("{use: dgx-a100, nodes: 64}");
  const auto devices = first(512);
  CHECK(choose_algorithm(OpKind::all_reduce, devices, 64e3, t).name == std::string("tree"));
  for (const double bytes : {1e3, 1e6, 1e9, 1e11}) {
    const auto seconds = [&](const std::string& name) {
      return alone(flow(name, OpKind::all_reduce, devices, bytes, t), t).value;
    };
    const std::string chosen = choose_algorithm(OpKind::all_reduce, devices, bytes, t).name;
    CHECK(seconds(chosen) <= std::min(seconds("ring"), seconds("tree")) * 1.0001);
  }
}

TEST_CASE("NVSwitches that add halve what a port carries of a large all-reduce; others are not asked to") {
  const Topology h100 = topology_of("dgx-h100"), a100 = topology_of("dgx-a100");
  const auto devices = first(8);
  CHECK(choose_algorithm(OpKind::all_reduce, devices, 1e9, h100).name == std::string("nvls"));
  CHECK(choose_algorithm(OpKind::all_reduce, devices, 1e9, a100, "nvls").name == std::string("ring"));
  const auto carried = [&](const std::string& name) {
    return flow(name, OpKind::all_reduce, devices, 1e9, h100).bytes;
  };
  // Ring: 2(n-1)/n of the buffer out of a port; in the switch: 1 + 1/n.
  CHECK(carried("nvls") < carried("ring") * (1 + 1.0 / 8) / (2 * 7.0 / 8) / 0.8);
}

TEST_CASE("a protocol never makes a collective slower than another would, and costs wire for latency") {
  for (std::size_t i = 1; i < protocols().size(); ++i) CHECK(protocols()[i].wire > protocols()[i - 1].wire);
  const Topology t = topology_of("dgx-a100");
  double before = 0;
  for (double bytes = 256; bytes < 2e9; bytes *= 1.5) {
    const double seconds = alone(flow("ring", OpKind::all_gather, first(8), bytes, t), t).value;
    CHECK(seconds > before);
    before = seconds;
  }
  CHECK(flow("ring", OpKind::all_gather, first(8), 1024, t).protocol == "LL");
  CHECK(flow("ring", OpKind::all_gather, first(8), 1e9, t).protocol == "Simple");
}

TEST_CASE("hierarchical: inside, between, inside; between hosts each port carries its part alone") {
  const Topology t = topology_of("{use: dgx-a100, nodes: 4}");
  const Flow f = flow("hierarchical", OpKind::all_reduce, first(32), 1e9, t);
  for (const auto& [link, weight] : f.links)
    if (t.links[static_cast<std::size_t>(link)].kind == LinkClass::nic) CHECK(weight == 1);
  CHECK(f.bytes == Approx(2.0 * 3 / 4 * 1e9 / 8));
}
