// How routes are found: inside a host from tables of one host (all hosts are equal), between hosts from the fabric.
// Nothing here grows with the square of the cluster.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "sim/topology/topology.h"

namespace trainwire {

// One host as a graph: vertices are its devices, then its network ports, then switches. Filled by a host kind.
struct HostGraph {
  struct Edge {
    int from = 0, to = 0;
    int link = -1;  // into links; -1: a hop that never binds, so no link
  };
  int devices = 0, nics = 0;
  std::vector<std::string> vertices;  // "gpu0" …, "nic0" …, then names of switches
  std::vector<Edge> edges;
  std::vector<Link> links;             // names without the host: "gpu3.nvlink.up"
  std::vector<int> transmit, receive;  // by network port: its link towards and from the fabric
  bool relay = false;                  // a device passes on what another sends to a port near it (NCCL's PXN)

  int nic(int index) const { return devices + index; }
  int add_vertex(const std::string& vertex_name);                                   // of a switch
  void connect(int a, int b);                                                       // both ways, never binds
  void add_link(int from, int to, const std::string& link_name, const Link& link);  // one way
};

// A network port of the cluster.
struct Port {
  int node = 0, nic = 0;
};

struct FabricRoutes {
  // Appends the links between two ports of different hosts, without the ports' own; false: no way. Empty: no fabric.
  std::function<bool(Port, Port, std::vector<LinkId>&)> route;
  bool rails = false;  // a port only reaches ports of the same number
};

// Routes from one vertex of a graph: fewest links, then lowest latency, then lowest link.
struct RouteTree {
  std::vector<int> edge;  // by vertex: the edge that reaches it, -1 at the root and where nothing does
  std::vector<bool> reached;
};
// `passes(v)`: whether traffic may cross vertex v; the root always sends.
RouteTree route_tree(const std::vector<HostGraph::Edge>& edges, const std::vector<Link>& links, int vertices, int root,
                     const std::function<bool(int)>& passes);

class Routing {
 public:
  // Hosts' links are first in Topology::links, host by host; then those of the fabric. The first `used` devices of each
  // host are the topology's.
  Routing(const HostGraph& host, int used, FabricRoutes fabric);

  bool route(const Device& from, const Device& to, int nic, std::vector<LinkId>& links) const;
  int nics() const { return nics_; }
  int nearest_nic(int local) const { return nearest_[static_cast<std::size_t>(local)]; }

 private:
  struct Local {
    bool exists = false;
    std::vector<int> links;  // of the host
  };
  const Local& between(int from, int to) const { return table_[static_cast<std::size_t>(from * (used_ + nics_) + to)]; }
  bool append(const Local& local, int node, std::vector<LinkId>& links) const;
  void choose_nearest(const HostGraph& host);

  int used_ = 0, nics_ = 0, links_per_host_ = 0;
  std::vector<Local> table_;  // rows and columns: used devices, then ports
  std::vector<int> nearest_, transmit_, receive_;
  FabricRoutes fabric_;
};

}  // namespace trainwire
