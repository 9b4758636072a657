// How routes are found: inside a host from tables of one host (all hosts are equal), between hosts from the fabric.
// Nothing here grows with the square of the cluster.
#pragma once
#include <functional>
#include <map>
#include <memory>
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
  bool devices_pass = false;           // devices pass on each other's traffic (a torus)
  bool in_switch_reduction = false;    // its crossbar adds and multicasts (NVLink SHARP)

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
  // Appends the links of one of the `ways` between two ports of different hosts, without the ports' own; false: no way.
  // Empty: no fabric.
  std::function<bool(Port, Port, int way, std::vector<LinkId>&)> route = {};
  std::function<int(Port, Port)> ways = {};  // how many there are; empty: one
  bool rails = false;                        // a port only reaches ports of the same number
  bool minimal_first = false;                // way 0 is better than the others, which are for failures
  // Which way a message takes: the target port's number (d-mod-k, which spreads evenly), or a hash of both ports.
  bool hashed = false;
  std::uint64_t seed = 0;
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
  // Links that do not work: routes avoid them where there is another way.
  using Failed = std::vector<LinkId>;  // sorted

  // Hosts' links are first in Topology::links, host by host; then those of the fabric. The first `used` devices of each
  // host are the topology's.
  Routing(const HostGraph& host, int used, FabricRoutes fabric);

  bool route(const Device& from, const Device& to, int nic, std::vector<LinkId>& links) const;
  // The same cluster with these links failed.
  std::shared_ptr<const Routing> without(Failed failed) const;
  int nics() const { return nics_; }
  int nearest_nic(int local) const { return nearest_[static_cast<std::size_t>(local)]; }

 private:
  struct Local {
    bool exists = false;
    std::vector<int> links;  // of the host
  };
  using Table = std::vector<Local>;  // rows and columns: used devices, then ports
  static Table make_table(const HostGraph& host, int used);
  const Table& table(int node) const;
  const Local& between(int node, int from, int to) const {
    return table(node)[static_cast<std::size_t>(from * (used_ + nics_) + to)];
  }
  bool append(const Local& local, int node, std::vector<LinkId>& links) const;
  bool append_between_hosts(const Device& from, const Device& to, int out, int in, std::vector<LinkId>& links) const;
  bool append_fabric(Port from, Port to, std::vector<LinkId>& links) const;
  bool works(const std::vector<LinkId>& links, std::size_t first) const;
  void choose_nearest(const HostGraph& host);

  HostGraph host_;
  int used_ = 0, nics_ = 0, links_per_host_ = 0;
  Table table_;                   // of a host without failures
  std::map<int, Table> damaged_;  // by node
  Failed failed_;
  std::vector<int> nearest_, transmit_, receive_;
  FabricRoutes fabric_;
};

}  // namespace trainwire
