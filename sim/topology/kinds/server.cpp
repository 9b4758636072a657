// A host with any of NVSwitches, NVLinks from GPU to GPU, and a PCIe tree (keys as in pcie_tree.cpp): what importers
// write.
//   nvlink: {…}                 one NVLink, each way
//   nvswitch: 12                NVLinks of each GPU into a crossbar of NVSwitches that never binds,
//   nvswitch: {links: 18, gpus: [gpu0, gpu1]}   or of some GPUs only
//   pairs: [[0, 1, 4]]          GPU, GPU, NVLinks
#include <algorithm>

#include "sim/topology/shelf.h"

namespace trainwire {
namespace {

void add_crossbar(Reader& host, HostGraph& graph, const Link& nvlink) {
  const Value map = host.map_or_shorthand("nvswitch", "links");
  Reader reader(map, host.path("nvswitch"), host.problems());
  Link port = nvlink;
  port.bandwidth.value = nvlink.bandwidth.value * static_cast<double>(reader.require_integer("links", 1, 64));
  std::vector<std::string> names = reader.texts("gpus");
  const std::vector<std::string> all(graph.vertices.begin(), graph.vertices.begin() + graph.devices);
  if (!reader.has("gpus")) names = all;
  const int crossbar = graph.add_vertex("nvswitch");
  for (const std::string& name : names) {
    const auto found = std::find(all.begin(), all.end(), name);
    if (found == all.end()) {
      reader.fail("gpus", "names '" + name + "', which is no GPU of this host", suggestion(name, all));
      continue;
    }
    const int gpu = static_cast<int>(found - all.begin());
    graph.add_link(gpu, crossbar, name + ".nvlink.up", port);
    graph.add_link(crossbar, gpu, name + ".nvlink.down", port);
  }
  reader.finish();
}

}  // namespace

void build_server(Reader& host, HostGraph& graph) {
  const bool nvlinks = host.has("nvswitch") || host.has("pairs");
  const Link nvlink = nvlinks ? read_link(host, "nvlink", LinkClass::nvlink) : Link{};
  if (!nvlinks) host.raw("nvlink");
  read_nics(host, graph);
  if (host.has("nvswitch")) add_crossbar(host, graph, nvlink);
  if (host.has("pairs")) read_nvlink_pairs(host, graph, nvlink);
  read_pcie_tree(host, graph);
  graph.relay = nvlinks;
  graph.in_switch_reduction = host.flag("in_switch_reduction", false);
}

}  // namespace trainwire
