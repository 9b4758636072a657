// Devices, links and switches of a cluster, and the route between any two devices.
// A link is one direction of a cable or bus (full duplex is two links); bandwidth and latency are per direction.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/config/value.h"
#include "sim/topology/device.h"

namespace trainwire {

using DeviceId = std::int32_t;
using LinkId = std::int32_t;

enum class LinkClass : std::uint8_t { nvlink, pcie, host_bus, nic, fabric, shared_memory };
std::string_view to_text(LinkClass);

struct Link {
  std::string name;  // "node0.gpu3.nvlink.up"
  LinkClass kind = LinkClass::fabric;
  Sourced<Bandwidth> bandwidth;
  Sourced<Seconds> latency;
  Sourced<double> efficiency;  // of bandwidth that collectives reach, in (0,1]
  double effective() const { return bandwidth.value.value * efficiency.value; }  // bytes per second
};

struct Device {
  std::string name;  // "node0.gpu3"
  int node = 0;      // host
  int local = 0;     // index in its host
  int spec = 0;      // index into Topology::specs
};

// A route: the links crossed, in order; a link may occur twice (a bus). Empty between a device and itself.
struct Path {
  std::vector<LinkId> links;
};

// How to find routes; made by the kinds and fabrics on the shelf (routing.h). Holds no per-pair table of the cluster.
class Routing;

class Topology {
 public:
  std::string name;
  std::vector<DeviceSpec> specs;
  std::vector<Device> devices;  // host by host; the world's ranks are placed on them
  std::vector<Link> links;
  int nodes = 1;
  bool in_switch_reduction = false;  // NVSwitches of a host add and multicast (NVLink SHARP)
  Where where;

  // Deterministic: fewest links, then lowest latency, then lowest link id. `nic` chooses among several network
  // ports of the first host: -1 the port nearest to `from`. Throws std::logic_error on an unknown device.
  Path route(DeviceId from, DeviceId to, int nic = -1) const;
  int nics_per_node() const;               // 0: no network
  int nearest_nic(DeviceId device) const;  // the network port of its host that it uses by itself; -1: none
  Seconds latency(const Path&) const;      // sum over the links
  double bottleneck(const Path&) const;    // lowest effective bandwidth, bytes per second; +inf for an empty path
  const DeviceSpec& spec(DeviceId d) const {
    return specs[static_cast<std::size_t>(devices[static_cast<std::size_t>(d)].spec)];
  }

  std::shared_ptr<const Routing> routing;
};

// A name in `topologies`, a path, or a mapping in place; {use: NAME, nodes: N, devices: D, fabric: {…}}.
// Every device must reach every other one: otherwise a problem that names two that do not.
Topology load_topology(const Value& value, const std::filesystem::path& base, Problems& problems);

// Loads topologies/gpu/NAME.yaml or a mapping in place; checks units, sources, ranges.
DeviceSpec load_device(const Value& value, const std::filesystem::path& base, Problems& problems);

}  // namespace trainwire
