// Ranks on the cores of one machine: every message is copied through the same memory, one link for all of them.
#include "sim/topology/shelf.h"

namespace trainwire {

void build_shared_memory(Reader& host, HostGraph& graph) {
  const Link memory = read_link(host, "memory", LinkClass::shared_memory);
  read_nics(host, graph);
  attach_nics_by_number(graph);
  const int entry = graph.add_vertex("memory.in"), exit = graph.add_vertex("memory.out");
  graph.add_link(entry, exit, "memory", memory);
  for (int device = 0; device < graph.devices; ++device) {
    graph.edges.push_back({device, entry, -1});
    graph.edges.push_back({exit, device, -1});
  }
}

}  // namespace trainwire
