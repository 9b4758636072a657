// The shelf: kinds of host and kinds of fabric. Adding one is a file in kinds/ or fabrics/ and a row of shelf.cpp.
#pragma once
#include <string>
#include <vector>

#include "sim/topology/routing.h"
#include "sim/topology/sourced.h"

namespace trainwire {

// A kind of host reads its own keys of the `host:` mapping. `graph` comes with its devices ("gpu0" …) as vertices.
struct HostKind {
  const char* name;
  const char* device;  // what its devices are called: "gpu", "cpu"
  void (*build)(Reader& host, HostGraph& graph);
};
const std::vector<HostKind>& host_kinds();

// What a fabric may use and add to. `nic`: the hosts' network port. Links are appended to `topology`.
struct FabricPlace {
  int nodes = 1, nics = 0;
  Link nic;
  Topology& topology;
  LinkId add_link(const std::string& link_name, Link link);
};
struct FabricKind {
  const char* name;
  FabricRoutes (*build)(Reader& fabric, FabricPlace& place);
};
const std::vector<FabricKind>& fabric_kinds();

// ---- parts that several kinds share ----

// Reads `nics` and `nic: {bandwidth, latency, efficiency}`; adds the ports' vertices and their links to the fabric.
// Must come before any switch is added.
void read_nics(Reader& host, HostGraph& graph);
// Ports near devices by number: with as many ports as devices, port i is near device i.
void attach_nics_by_number(HostGraph& graph);
// Reads `pairs`: [[GPU, GPU, NVLinks], …] with `one` NVLink; adds their links.
void read_nvlink_pairs(Reader& host, HostGraph& graph, const Link& one);
// Reads `tree` (sockets > switches > … > devices), `pcie`, `uplink`, `socket_link` and adds the PCIe links.
void read_pcie_tree(Reader& host, HostGraph& graph);

// Entry points of the files on the shelf.
void build_nvswitch(Reader&, HostGraph&);
void build_pcie_tree(Reader&, HostGraph&);
void build_nvlink_graph(Reader&, HostGraph&);
void build_shared_memory(Reader&, HostGraph&);
void build_graph_host(Reader&, HostGraph&);
void build_server(Reader&, HostGraph&);
void build_torus(Reader&, HostGraph&);
FabricRoutes build_no_fabric(Reader&, FabricPlace&);
FabricRoutes build_single_switch(Reader&, FabricPlace&);
FabricRoutes build_leaf_spine(Reader&, FabricPlace&);
FabricRoutes build_rail(Reader&, FabricPlace&);
FabricRoutes build_fat_tree(Reader&, FabricPlace&);
FabricRoutes build_dragonfly(Reader&, FabricPlace&);
FabricRoutes build_graph_fabric(Reader&, FabricPlace&);

// A list of links under `links`, each {between: [a, b]} (both ways) or {from: a, to: b}, bandwidth, latency,
// efficiency, count, class. `vertex(name)`: its number, -1 where unknown; `known`: all names, for messages.
struct ListedLink {
  int from = 0, to = 0;
  bool both = false;
  Link link;
};
std::vector<ListedLink> read_links(Reader& reader, const std::vector<std::string>& known, LinkClass fallback);

}  // namespace trainwire
