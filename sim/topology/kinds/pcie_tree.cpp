// GPUs and network ports under PCIe switches and the root ports of sockets:
//   tree: [[[gpu0, gpu1, nic0], [gpu2, gpu3]], [gpu4, nic1]]     socket > switch > device, or socket > device;
// switches may stand under switches.
// Each GPU has its own link up and down (`pcie`); all under one switch share its `uplink`; sockets are joined by
// `socket_link` (UPI, Infinity Fabric). A network port's own slot is as wide as the port: no link.
#include <algorithm>
#include <set>

#include "sim/topology/shelf.h"

namespace trainwire {
namespace {

struct Tree {
  HostGraph& graph;
  Reader& host;
  Link pcie, uplink;
  std::set<std::string> seen;
  int switches = 0;

  void place(const Value& leaf, int parent) {
    const auto& names = graph.vertices;
    const auto found = std::find(names.begin(), names.begin() + graph.devices + graph.nics, leaf.scalar);
    const auto complain = [&](const std::string& problem, const std::string& fix) {
      host.problems().add({leaf.where, host.path("tree"), leaf.text(), problem, fix});
    };
    if (leaf.kind != Value::Kind::scalar) return complain("must be the name of a device", "");
    if (found == names.begin() + graph.devices + graph.nics)
      return complain("is no device or port of this host",
                      suggestion(leaf.scalar, {names.begin(), names.begin() + graph.devices + graph.nics}));
    if (!seen.insert(leaf.scalar).second) return complain("stands in the tree twice", "");
    const int vertex = static_cast<int>(found - names.begin());
    if (vertex >= graph.devices) return graph.connect(vertex, parent);
    graph.add_link(vertex, parent, leaf.scalar + ".pcie.up", pcie);
    graph.add_link(parent, vertex, leaf.scalar + ".pcie.down", pcie);
  }

  void place_switch(const Value& list, int parent) {
    const std::string name = "switch" + std::to_string(switches++);
    const int vertex = graph.add_vertex(name);
    graph.add_link(vertex, parent, name + ".up", uplink);
    graph.add_link(parent, vertex, name + ".down", uplink);
    for (const Value& child : list.items)
      if (child.kind == Value::Kind::list)
        place_switch(child, vertex);
      else
        place(child, vertex);
  }
};

bool is_list(const Value& value) { return value.kind == Value::Kind::list; }

}  // namespace

void read_pcie_tree(Reader& host, HostGraph& graph) {
  const Link pcie = read_link(host, "pcie", LinkClass::pcie);
  const Value* tree = host.raw("tree");
  if (!tree || !is_list(*tree) || !std::all_of(tree->items.begin(), tree->items.end(), is_list)) {
    host.raw("uplink"), host.raw("socket_link");
    return host.fail("tree", tree ? "must be a list of sockets, each a list" : "is missing",
                     "Example: [[gpu0, gpu1, nic0], [gpu2, gpu3]]");
  }
  const bool has_switches = std::any_of(tree->items.begin(), tree->items.end(), [](const Value& socket) {
    return std::any_of(socket.items.begin(), socket.items.end(), is_list);
  });
  Tree builder{graph, host, pcie, has_switches ? read_link(host, "uplink", LinkClass::pcie) : Link{}, {}, 0};
  Link between;
  if (tree->items.size() > 1) between = read_link(host, "socket_link", LinkClass::host_bus);
  std::vector<int> sockets;
  for (const Value& list : tree->items) {
    const int socket = graph.add_vertex("socket" + std::to_string(sockets.size()));
    for (const Value& child : list.items)
      if (is_list(child))
        builder.place_switch(child, socket);
      else
        builder.place(child, socket);
    for (const int other : sockets)
      for (const auto& [from, to] : {std::pair{other, socket}, std::pair{socket, other}})
        graph.add_link(
            from, to,
            graph.vertices[static_cast<std::size_t>(from)] + "-" + graph.vertices[static_cast<std::size_t>(to)],
            between);
    sockets.push_back(socket);
  }
  for (int v = 0; v < graph.devices + graph.nics; ++v)
    if (const auto& name = graph.vertices[static_cast<std::size_t>(v)]; !builder.seen.contains(name))
      host.fail("tree", "does not say where " + name + " is plugged in");
}

void build_pcie_tree(Reader& host, HostGraph& graph) {
  read_nics(host, graph);
  read_pcie_tree(host, graph);
}

}  // namespace trainwire
