// The two tables, and the parts that several kinds share.
#include "sim/topology/shelf.h"

#include <algorithm>

namespace trainwire {

const std::vector<HostKind>& host_kinds() {
  static const std::vector<HostKind> table{
      {"nvswitch", "gpu", build_nvswitch},
      {"pcie-tree", "gpu", build_pcie_tree},
      {"nvlink-graph", "gpu", build_nvlink_graph},
      {"graph", "gpu", build_graph_host},
      {"shared-memory", "cpu", build_shared_memory},
      {"server", "gpu", build_server},
      {"torus", "gpu", build_torus},
  };
  return table;
}

const std::vector<FabricKind>& fabric_kinds() {
  static const std::vector<FabricKind> table{
      {"none", build_no_fabric},     {"switch", build_single_switch}, {"leaf-spine", build_leaf_spine},
      {"rail", build_rail},          {"fat-tree", build_fat_tree},    {"dragonfly", build_dragonfly},
      {"graph", build_graph_fabric},
  };
  return table;
}

LinkId FabricPlace::add_link(const std::string& link_name, Link link) {
  link.name = link_name;
  topology.links.push_back(std::move(link));
  return static_cast<LinkId>(topology.links.size()) - 1;
}

void read_nics(Reader& host, HostGraph& graph) {
  graph.nics = static_cast<int>(host.integer("nics", 0, 0, 256));
  if (graph.nics == 0) {
    host.raw("nic");
    return;
  }
  const Link port = read_link(host, "nic", LinkClass::nic);
  for (int nic = 0; nic < graph.nics; ++nic) {
    const std::string vertex = "nic" + std::to_string(nic);
    graph.vertices.push_back(vertex);
    // The far ends are the fabric's: these links are on no edge of the host.
    for (const char* direction : {".transmit", ".receive"}) {
      auto& ports = direction[1] == 't' ? graph.transmit : graph.receive;
      ports.push_back(static_cast<int>(graph.links.size()));
      graph.links.push_back(port);
      graph.links.back().name = vertex + direction;
    }
  }
}

void attach_nics_by_number(HostGraph& graph) {
  const int d = graph.devices, n = graph.nics;
  for (int device = 0; device < d; ++device)
    for (int nic = 0; nic < n; ++nic)
      if (n <= d ? device * n / d == nic : nic * d / n == device) graph.connect(device, graph.nic(nic));
}

namespace {

int index_of(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

int read_end(Reader& reader, const std::string& key, const std::string& name, const std::vector<std::string>& known) {
  const int index = index_of(known, name);
  if (index < 0) reader.fail(key, "names '" + name + "', which is not there", suggestion(name, known));
  return index;
}

LinkClass link_class(const std::string& text, LinkClass fallback) {
  for (const LinkClass kind : {LinkClass::nvlink, LinkClass::pcie, LinkClass::host_bus, LinkClass::nic,
                               LinkClass::fabric, LinkClass::shared_memory})
    if (to_text(kind) == text) return kind;
  return fallback;
}

}  // namespace

std::vector<ListedLink> read_links(Reader& reader, const std::vector<std::string>& known, LinkClass fallback) {
  std::vector<ListedLink> result;
  const Value* list = reader.raw("links");
  if (!list || list->kind != Value::Kind::list) {
    reader.fail("links", list ? "must be a list" : "is missing", "Example: - {between: [gpu0, gpu1], bandwidth: …}");
    return result;
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    Reader item(list->items[i], reader.path("links") + "[" + std::to_string(i) + "]", reader.problems());
    if (list->items[i].kind != Value::Kind::map) continue;  // the Reader has said so
    const auto kind = item.choice("class", {"nvlink", "pcie", "host_bus", "nic", "fabric", "shared_memory"}, "");
    ListedLink entry;
    entry.link = read_link_fields(item, link_class(kind, fallback));
    const auto count = static_cast<double>(item.integer("count", 1, 1, 1024));
    entry.link.bandwidth.value = entry.link.bandwidth.value * count;
    entry.both = item.has("between");
    const auto ends = item.texts("between");
    if (entry.both && ends.size() != 2) {
      item.fail("between", "must name two ends", "Example: [gpu0, gpu1]");
    } else {
      entry.from =
          read_end(item, entry.both ? "between" : "from", entry.both ? ends[0] : item.require_text("from"), known);
      entry.to = read_end(item, entry.both ? "between" : "to", entry.both ? ends[1] : item.require_text("to"), known);
      if (entry.from >= 0 && entry.from == entry.to) item.fail(entry.both ? "between" : "to", "joins an end to itself");
      if (entry.from >= 0 && entry.to >= 0 && entry.from != entry.to) result.push_back(entry);
    }
    item.finish();
  }
  return result;
}

}  // namespace trainwire
