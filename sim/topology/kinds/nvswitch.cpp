// GPUs around a crossbar of NVSwitches: each has a port up and a port down. The crossbar itself never binds, so it is
// no link; nor are the PCIe lanes between a GPU and the network port near it, which are wider than the port.
#include "sim/topology/shelf.h"

namespace trainwire {

void build_nvswitch(Reader& host, HostGraph& graph) {
  const Link port = read_link(host, "nvlink", LinkClass::nvlink);
  read_nics(host, graph);
  attach_nics_by_number(graph);
  const int crossbar = graph.add_vertex("nvswitch");
  for (int gpu = 0; gpu < graph.devices; ++gpu) {
    const std::string name = "gpu" + std::to_string(gpu) + ".nvlink";
    graph.add_link(gpu, crossbar, name + ".up", port);
    graph.add_link(crossbar, gpu, name + ".down", port);
  }
  graph.relay = true;
  graph.in_switch_reduction = host.flag("in_switch_reduction", false);
}

}  // namespace trainwire
