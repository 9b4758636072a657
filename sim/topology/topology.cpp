// Routes and what follows from them.
#include "sim/topology/topology.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "sim/topology/routing.h"

namespace trainwire {

std::string_view to_text(LinkClass kind) {
  switch (kind) {
    case LinkClass::nvlink:
      return "nvlink";
    case LinkClass::pcie:
      return "pcie";
    case LinkClass::host_bus:
      return "host_bus";
    case LinkClass::nic:
      return "nic";
    case LinkClass::fabric:
      return "fabric";
    case LinkClass::shared_memory:
      return "shared_memory";
  }
  return "?";
}

Path Topology::route(DeviceId from, DeviceId to, int nic) const {
  const auto count = static_cast<DeviceId>(devices.size());
  if (from < 0 || from >= count || to < 0 || to >= count)
    throw std::logic_error("route between unknown devices " + std::to_string(from) + " and " + std::to_string(to));
  Path path;
  if (from == to) return path;
  const Device& source = devices[static_cast<std::size_t>(from)];
  const Device& target = devices[static_cast<std::size_t>(to)];
  if (!routing || !routing->route(source, target, nic, path.links))
    throw std::logic_error("no route from " + source.name + " to " + target.name);
  return path;
}

int Topology::nics_per_node() const { return routing ? routing->nics() : 0; }

int Topology::nearest_nic(DeviceId device) const {
  return routing ? routing->nearest_nic(devices[static_cast<std::size_t>(device)].local) : -1;
}

Seconds Topology::latency(const Path& path) const {
  Seconds sum;
  for (const LinkId link : path.links) sum += links[static_cast<std::size_t>(link)].latency.value;
  return sum;
}

double Topology::bottleneck(const Path& path) const {
  double lowest = std::numeric_limits<double>::infinity();
  for (const LinkId link : path.links) lowest = std::min(lowest, links[static_cast<std::size_t>(link)].effective());
  return lowest;
}

}  // namespace trainwire
