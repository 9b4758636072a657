// A host given link by link: `switches` names what is neither device nor port, `links` joins them.
#include "sim/topology/shelf.h"

namespace trainwire {

void build_graph_host(Reader& host, HostGraph& graph) {
  read_nics(host, graph);
  for (const auto& name : host.texts("switches")) graph.add_vertex(name);
  const auto join = [&](int from, int to, const Link& link) {
    const auto& names = graph.vertices;
    graph.add_link(from, to, names[static_cast<std::size_t>(from)] + "-" + names[static_cast<std::size_t>(to)], link);
  };
  for (const auto& entry : read_links(host, graph.vertices, LinkClass::pcie)) {
    join(entry.from, entry.to, entry.link);
    if (entry.both) join(entry.to, entry.from, entry.link);
  }
}

}  // namespace trainwire
