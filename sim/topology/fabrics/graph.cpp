// A fabric given link by link: `switches` by name, `links` between them and hosts ("node0") or single ports
// ("node0.nic1"). Routes are searched when they are first asked for and kept.
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "sim/topology/shelf.h"

namespace trainwire {
namespace {

// Vertices: switches, then hosts, then ports.
struct FabricGraph {
  std::vector<HostGraph::Edge> edges;  // their links: into `links`
  std::vector<Link> links;
  LinkId first = 0;
  int switches = 0, nodes = 0, nics = 0;
  std::mutex mutex;
  std::map<int, RouteTree> trees;  // by root

  int vertices() const { return switches + nodes * (1 + nics); }
  int port(Port p) const { return switches + nodes + p.node * nics + p.nic; }

  bool route(Port from, Port to, std::vector<LinkId>& result) {
    const std::lock_guard lock(mutex);
    const int root = port(from);
    auto found = trees.find(root);
    if (found == trees.end()) {
      const auto passes = [&](int v) { return v < switches || v == switches + from.node; };
      found = trees.emplace(root, route_tree(edges, links, vertices(), root, passes)).first;
    }
    const RouteTree& tree = found->second;
    int vertex = port(to);
    if (!tree.reached[static_cast<std::size_t>(vertex)]) vertex = switches + to.node;
    if (!tree.reached[static_cast<std::size_t>(vertex)]) return false;
    const std::size_t start = result.size();
    for (; tree.edge[static_cast<std::size_t>(vertex)] >= 0;) {
      const auto& edge = edges[static_cast<std::size_t>(tree.edge[static_cast<std::size_t>(vertex)])];
      if (edge.link >= 0) result.insert(result.begin() + static_cast<std::ptrdiff_t>(start), first + edge.link);
      vertex = edge.from;
    }
    return true;
  }
};

}  // namespace

FabricRoutes build_graph_fabric(Reader& fabric, FabricPlace& place) {
  const auto graph = std::make_shared<FabricGraph>();
  std::vector<std::string> names = fabric.texts("switches");
  graph->switches = static_cast<int>(names.size());
  graph->nodes = place.nodes;
  graph->nics = place.nics;
  graph->first = static_cast<LinkId>(place.topology.links.size());
  for (int node = 0; node < place.nodes; ++node) names.push_back("node" + std::to_string(node));
  for (int node = 0; node < place.nodes; ++node)
    for (int nic = 0; nic < place.nics; ++nic) {
      names.push_back("node" + std::to_string(node) + ".nic" + std::to_string(nic));
      // A port leaves through whatever its host as a whole is joined to.
      graph->edges.push_back({graph->port({node, nic}), graph->switches + node, -1});
    }
  const auto join = [&](int from, int to, const Link& link) {
    graph->edges.push_back({from, to, static_cast<int>(graph->links.size())});
    graph->links.push_back(link);
    place.add_link(names[static_cast<std::size_t>(from)] + "-" + names[static_cast<std::size_t>(to)], link);
  };
  for (const auto& entry : read_links(fabric, names, LinkClass::fabric)) {
    join(entry.from, entry.to, entry.link);
    if (entry.both) join(entry.to, entry.from, entry.link);
  }
  return {[graph](Port from, Port to, int way, std::vector<LinkId>& links) {
    return way == 0 && graph->route(from, to, links);
  }};
}

}  // namespace trainwire
