#include "sim/topology/disturb.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/topology/routing.h"

namespace trainwire {
namespace {

void scale(std::vector<double>& values, double factor) {
  for (double& value : values) value *= factor;
}

// Devices near a failure see most of it: those of the nodes that are named, and of each node the first one.
std::string unreachable(const Topology& topology, const std::vector<LinkId>& failed) {
  std::set<DeviceId> suspects;
  const auto count = static_cast<DeviceId>(topology.devices.size());
  constexpr DeviceId all_pairs = 512;
  std::set<int> nodes;
  for (const LinkId link : failed) {
    const std::string& name = topology.links[static_cast<std::size_t>(link)].name;
    if (name.starts_with("node")) nodes.insert(std::atoi(name.c_str() + 4));
  }
  int last_node = -1;
  for (DeviceId d = 0; d < count; ++d) {
    const int node = topology.devices[static_cast<std::size_t>(d)].node;
    if (count <= all_pairs || nodes.contains(node)) suspects.insert(d);
    if (nodes.empty() && node != last_node && suspects.size() < all_pairs) suspects.insert(d);
    last_node = node;
  }
  std::vector<LinkId> links;
  for (const DeviceId a : suspects)
    for (DeviceId b = 0; b < count; ++b) {
      if (a == b) continue;
      const Device &from = topology.devices[static_cast<std::size_t>(a)],
                   &to = topology.devices[static_cast<std::size_t>(b)];
      links.clear();
      if (!topology.routing->route(from, to, -1, links)) return fmt::format("{} cannot reach {}", from.name, to.name);
      links.clear();
      if (!topology.routing->route(to, from, -1, links)) return fmt::format("{} cannot reach {}", to.name, from.name);
    }
  return "";
}

}  // namespace

void set_speed(DeviceSpec& spec, double speed) {
  for (auto& peak : spec.peak) peak.value = peak.value * speed;
  spec.vector_rate.value = spec.vector_rate.value * speed;
  spec.memory_bandwidth.value = spec.memory_bandwidth.value * speed;
  spec.launch.value = spec.launch.value / speed;
  for (MeasuredProduct& product : spec.cpu.products) product.seconds /= speed;
  for (auto& [name, curve] : spec.cpu.kernels) scale(curve.y, 1 / speed);
  spec.cpu.operation_overhead = spec.cpu.operation_overhead / speed;
  scale(spec.cpu.reduction.y, 1 / speed);
}

void set_speed(Topology& topology, DeviceId device, double speed) {
  Device& changed = topology.devices[static_cast<std::size_t>(device)];
  DeviceSpec spec = topology.specs[static_cast<std::size_t>(changed.spec)];
  set_speed(spec, speed);
  changed.spec = static_cast<int>(topology.specs.size());
  topology.specs.push_back(std::move(spec));
}

std::vector<LinkId> links_named(const Topology& topology, const std::string& name) {
  std::vector<LinkId> found;
  for (std::size_t l = 0; l < topology.links.size(); ++l) {
    const std::string& candidate = topology.links[l].name;
    if (candidate == name || (candidate.starts_with(name) && candidate[name.size()] == '.'))
      found.push_back(static_cast<LinkId>(l));
  }
  return found;
}

std::string fail_links(Topology& topology, std::vector<LinkId> links) {
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  topology.routing = topology.routing->without(links);
  return unreachable(topology, links);
}

}  // namespace trainwire
