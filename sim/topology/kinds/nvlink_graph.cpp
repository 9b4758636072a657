// GPUs joined pair by pair by NVLinks, as in a DGX-1V or under NVLink bridges. Pairs without NVLink, and the network
// ports, are reached over the PCIe tree.
//   pairs: [[0, 1, 1], [0, 3, 2]]     GPU, GPU, number of NVLinks
#include "sim/topology/shelf.h"

namespace trainwire {
namespace {

bool read_pair(const Value& value, int gpus, std::int64_t (&pair)[3]) {
  if (value.kind != Value::Kind::list || value.items.size() != 3) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string& text = value.items[i].scalar;
    if (text.empty() || text.size() > 4 || text.find_first_not_of("0123456789") != std::string::npos) return false;
    pair[i] = std::stoll(text);
  }
  return pair[0] < gpus && pair[1] < gpus && pair[0] != pair[1] && pair[2] > 0;
}

}  // namespace

void read_nvlink_pairs(Reader& host, HostGraph& graph, const Link& one) {
  const Value* pairs = host.raw("pairs");
  if (!pairs || pairs->kind != Value::Kind::list)
    host.fail("pairs", pairs ? "must be a list" : "is missing", "Example: [[0, 1, 2]]: GPU, GPU, number of NVLinks");
  for (const Value& item : pairs ? pairs->items : std::vector<Value>{}) {
    std::int64_t pair[3];
    if (!read_pair(item, graph.devices, pair)) {
      host.problems().add({item.where, host.path("pairs"), item.text(),
                           "must be two different GPUs of this host and a number of NVLinks", "Example: [0, 1, 2]"});
      continue;
    }
    Link cable = one;
    cable.bandwidth.value = one.bandwidth.value * static_cast<double>(pair[2]);
    const auto a = static_cast<int>(pair[0]), b = static_cast<int>(pair[1]);
    for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}})
      graph.add_link(from, to, "gpu" + std::to_string(from) + "-gpu" + std::to_string(to) + ".nvlink", cable);
  }
}

void build_nvlink_graph(Reader& host, HostGraph& graph) {
  const Link one = read_link(host, "nvlink", LinkClass::nvlink);
  read_nics(host, graph);
  read_nvlink_pairs(host, graph, one);
  read_pcie_tree(host, graph);
}

}  // namespace trainwire
