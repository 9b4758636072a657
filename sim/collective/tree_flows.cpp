// Flows of trees, of in-switch reduction and of the hierarchical all-reduce.
#include <algorithm>
#include <map>

#include "sim/collective/flows.h"
#include "sim/collective/protocol.h"
#include "sim/collective/rings.h"
#include "sim/collective/trees.h"

namespace trainwire {
namespace {

int node_of(const Topology& topology, DeviceId d) { return topology.devices[static_cast<std::size_t>(d)].node; }

// Members node by node, in order of appearance.
std::vector<std::vector<DeviceId>> by_node(std::span<const DeviceId> devices, const Topology& topology) {
  std::vector<std::vector<DeviceId>> nodes;
  std::map<int, std::size_t> index;
  for (const DeviceId d : devices) {
    const auto [found, fresh] = index.try_emplace(node_of(topology, d), nodes.size());
    if (fresh) nodes.emplace_back();
    nodes[found->second].push_back(d);
  }
  return nodes;
}

struct Crossed {
  const Topology& topology;
  std::vector<LinkId> links;
  double go(DeviceId from, DeviceId to, int nic) {
    const Path path = topology.route(from, to, nic);
    links.insert(links.end(), path.links.begin(), path.links.end());
    return topology.latency(path).value;
  }
};

}  // namespace

Flow tree_flow(OpKind, std::span<const DeviceId> devices, double bytes, const Topology& topology) {
  if (devices.size() < 2) return {Seconds(0), 0, {}, "tree", ""};
  Crossed crossed{topology, {}};
  const auto channels = rings(devices, topology);
  double latency = 0;
  for (const Ring& ring : channels) {
    // The first member of each node on the ring is its head: in the tree; the others follow in a chain.
    std::vector<DeviceId> heads;
    double chain = 0, longest_chain = 0, longest_edge = 0;
    for (std::size_t i = 0; i < ring.order.size(); ++i) {
      const bool first = i == 0 || node_of(topology, ring.order[i]) != node_of(topology, ring.order[i - 1]);
      if (first) {
        heads.push_back(ring.order[i]);
        chain = 0;
        continue;
      }
      for (int tree = 0; tree < 2; ++tree) {
        const double edge = crossed.go(ring.order[i - 1], ring.order[i], -1);
        crossed.go(ring.order[i], ring.order[i - 1], -1);
        if (tree == 0) chain += edge;
      }
      longest_chain = std::max(longest_chain, chain);
    }
    const auto trees = double_binary_tree(static_cast<int>(heads.size()));
    for (const BinaryTree& tree : trees)
      for (std::size_t m = 0; m < heads.size(); ++m) {
        if (tree.parent[m] < 0) continue;
        const DeviceId parent = heads[static_cast<std::size_t>(tree.parent[m])];
        longest_edge =
            std::max({longest_edge, crossed.go(heads[m], parent, ring.nic), crossed.go(parent, heads[m], ring.nic)});
      }
    latency = std::max(latency, 2 * (longest_chain + std::max(trees[0].depth, trees[1].depth) * longest_edge));
  }
  Flow flow{Seconds(latency), bytes / 2 / static_cast<double>(channels.size()), count_links(crossed.links), "tree", ""};
  use_best_protocol(flow, devices, topology);
  return flow;
}

bool nvls_fits(std::span<const DeviceId> devices, const Topology& topology) {
  if (!topology.in_switch_reduction || devices.size() < 3) return false;
  return std::all_of(devices.begin(), devices.end(),
                     [&](DeviceId d) { return node_of(topology, d) == node_of(topology, devices[0]); });
}

// Every member sends its buffer once, and the part it owns a second time (the switch's sum, multicast), and gets as
// much.
Flow nvls_flow(OpKind, std::span<const DeviceId> devices, double bytes, const Topology& topology) {
  // Fitted to NCCL all-reduce on 4 and 8 H100 and H200; NVIDIA aiconfigurator, commit 095f58a (Apache-2.0)
  constexpr double base_s = 45e-6, wire = 0.87;
  Crossed crossed{topology, {}};
  double latency = 0;
  for (std::size_t m = 0; m < devices.size(); ++m)
    latency = std::max(latency, crossed.go(devices[m], devices[(m + 1) % devices.size()], -1));
  const double n = static_cast<double>(devices.size());
  return {Seconds(base_s * start_scale(devices, topology) + 2 * latency), bytes * (1 + 1 / n) / wire,
          count_links(crossed.links), "nvls", "Simple"};
}

bool hierarchical_fits(std::span<const DeviceId> devices, const Topology& topology) {
  const auto nodes = by_node(devices, topology);
  return nodes.size() > 1 && nodes[0].size() > 1 &&
         std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) { return node.size() == nodes[0].size(); });
}

// Reduce-scatter inside the nodes, all-reduce of the parts between them, all-gather inside. The phases follow one
// another, so the flow is the middle one; the others are part of its latency.
Flow hierarchical_flow(OpKind, std::span<const DeviceId> devices, double bytes, const Topology& topology) {
  const auto nodes = by_node(devices, topology);
  const auto local = static_cast<double>(nodes[0].size());
  double inside = 0;
  for (const auto& node : nodes) {
    double both = 0;
    for (const OpKind kind : {OpKind::reduce_scatter, OpKind::all_gather})
      both += alone(ring_flow(kind, node, bytes, topology), topology).value;
    inside = std::max(inside, both);
  }
  std::vector<LinkId> crossings;
  Flow flow{Seconds(0), 0, {}, "hierarchical", ""};
  for (std::size_t l = 0; l < nodes[0].size(); ++l) {
    std::vector<DeviceId> peers;
    for (const auto& node : nodes) peers.push_back(node[l]);
    const Flow between = ring_flow(OpKind::all_reduce, peers, bytes / local, topology);
    flow.latency = std::max(flow.latency, between.latency);
    flow.bytes = std::max(flow.bytes, between.bytes);
    for (const WeightedLink& link : between.links)
      for (int k = 0; k < static_cast<int>(link.weight); ++k) crossings.push_back(link.link);
  }
  flow.latency += Seconds(inside);
  flow.links = count_links(crossings);
  return flow;
}

}  // namespace trainwire
