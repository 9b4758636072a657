// Search for rings. Hosts are alike, so what is found for one node serves all with the same members.
#include "sim/collective/rings.h"

#include <algorithm>
#include <map>

#include "sim/collective/cycles.h"

namespace trainwire {
namespace {

const Device& device(const Topology& topology, DeviceId id) { return topology.devices[static_cast<std::size_t>(id)]; }

// The group's devices node by node, nodes and members in order of appearance.
std::vector<std::vector<DeviceId>> by_node(std::span<const DeviceId> devices, const Topology& topology) {
  std::vector<std::vector<DeviceId>> nodes;
  std::map<int, std::size_t> index;
  for (const DeviceId d : devices) {
    const auto [found, fresh] = index.try_emplace(device(topology, d).node, nodes.size());
    if (fresh) nodes.emplace_back();
    nodes[found->second].push_back(d);
  }
  return nodes;
}

// Orders around one node's members that make good use of its wires; the first is the best.
std::vector<std::vector<int>> cycles_inside(const std::vector<DeviceId>& members, const Topology& topology) {
  const int n = static_cast<int>(members.size());
  std::vector<int> own_order(members.size());
  for (int i = 0; i < n; ++i) own_order[static_cast<std::size_t>(i)] = i;
  if (n < 3 || n > longest_search) return {own_order};
  Wires wires(n);
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) {
      if (a == b) continue;
      const Path path = topology.route(members[static_cast<std::size_t>(a)], members[static_cast<std::size_t>(b)]);
      wires.bandwidth(a, b) = topology.bottleneck(path);
      const Link& link = topology.links[static_cast<std::size_t>(path.links.front())];
      if (path.links.size() == 1 && link.kind == LinkClass::nvlink) wires.own(a, b) = link.effective();
    }
  if (wires.all_equal()) return {own_order};
  auto found = disjoint_cycles(wires);
  if (found.empty()) found.push_back(widest_cycle(wires));
  return found;
}

// Network ports near the members, each with its first member; ports in order of number.
std::map<int, int> ports_of(const std::vector<DeviceId>& members, const Topology& topology) {
  std::map<int, int> ports;
  for (std::size_t i = 0; i < members.size(); ++i)
    ports.try_emplace(topology.nearest_nic(members[i]), static_cast<int>(i));
  return ports;
}

// The way through a node that starts near port `nic` and from whose end that port is reached best.
std::vector<DeviceId> way_through(const std::vector<DeviceId>& members, const std::vector<std::vector<int>>& cycles,
                                  int nic, DeviceId elsewhere, const Topology& topology) {
  const auto member = [&](int i) { return members[static_cast<std::size_t>(i)]; };
  std::vector<DeviceId> best;
  double best_bandwidth = -1, best_latency = 0;
  for (const auto& cycle : cycles)
    for (std::size_t start = 0; start < cycle.size(); ++start) {
      if (topology.nearest_nic(member(cycle[start])) != nic) continue;
      const DeviceId last = member(cycle[(start + cycle.size() - 1) % cycle.size()]);
      const Path exit = topology.route(last, elsewhere, nic);
      const double bandwidth = topology.bottleneck(exit), latency = topology.latency(exit).value;
      if (bandwidth < best_bandwidth || (bandwidth == best_bandwidth && latency >= best_latency)) continue;
      best_bandwidth = bandwidth, best_latency = latency;
      best.clear();
      for (std::size_t k = 0; k < cycle.size(); ++k) best.push_back(member(cycle[(start + k) % cycle.size()]));
    }
  return best;
}

std::vector<int> locals_of(const std::vector<DeviceId>& members, const Topology& topology) {
  std::vector<int> locals;
  for (const DeviceId d : members) locals.push_back(device(topology, d).local);
  return locals;
}

// A node's ways, one a ring: positions in its member list.
using Ways = std::vector<std::vector<int>>;

Ways ways_of(const std::vector<DeviceId>& members, std::size_t count, DeviceId elsewhere, const Topology& topology,
             std::vector<int>& nics) {
  const auto cycles = cycles_inside(members, topology);
  Ways ways;
  nics.clear();
  for (const auto& [nic, first] : ports_of(members, topology)) {
    if (ways.size() == count) break;
    ways.emplace_back();
    for (const DeviceId d : way_through(members, cycles, nic, elsewhere, topology))
      ways.back().push_back(static_cast<int>(std::find(members.begin(), members.end(), d) - members.begin()));
    nics.push_back(nic);
  }
  return ways;
}

}  // namespace

std::vector<Ring> rings(std::span<const DeviceId> devices, const Topology& topology) {
  const auto nodes = by_node(devices, topology);
  std::vector<Ring> result;
  if (nodes.size() == 1) {
    for (const auto& cycle : cycles_inside(nodes[0], topology)) {
      result.emplace_back();
      for (const int i : cycle) result.back().order.push_back(nodes[0][static_cast<std::size_t>(i)]);
    }
    return result;
  }
  std::size_t count = SIZE_MAX;
  for (const auto& members : nodes) count = std::min(count, ports_of(members, topology).size());
  result.resize(count);
  std::map<std::vector<int>, Ways> known;  // by the members' places in their host
  std::vector<int> nics, ignored;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    auto& ways = known[locals_of(nodes[k], topology)];
    if (ways.empty()) ways = ways_of(nodes[k], count, nodes[k == 0 ? 1 : 0].front(), topology, k == 0 ? nics : ignored);
    for (std::size_t ring = 0; ring < count; ++ring)
      for (const int i : ways[ring]) result[ring].order.push_back(nodes[k][static_cast<std::size_t>(i)]);
  }
  for (std::size_t ring = 0; ring < count; ++ring) result[ring].nic = nics[ring];
  return result;
}

}  // namespace trainwire
