// A topology's file: one host multiplied by `nodes`, under a fabric. `use: NAME` takes another file and overrides it.
#include <algorithm>

#include "sim/config/data_dir.h"
#include "sim/topology/importers.h"
#include "sim/topology/locate.h"
#include "sim/topology/shelf.h"

namespace trainwire {
namespace {

constexpr int deepest_use = 8;

Value* field(Value& map, const std::string& key) {
  for (auto& [name, value] : map.fields)
    if (name == key) return &value;
  return nullptr;
}

void set(Value& map, const std::string& key, const Value& value) {
  if (Value* old = field(map, key))
    *old = value;
  else
    map.fields.emplace_back(key, value);
}

// What a mapping that says `use:` overrides. A fabric of the same kind, or of no stated kind, is overridden key by key.
void override_with(Value& base, const Value& changes) {
  for (const auto& [key, value] : changes.fields) {
    if (key == "use" || key == "import" || key == "file") continue;
    Value* fabric = key == "fabric" ? field(base, "fabric") : nullptr;
    const Value* kind = value.find("kind");
    const Value* old_kind = fabric ? fabric->find("kind") : nullptr;
    if (fabric && value.kind == Value::Kind::map && fabric->kind == Value::Kind::map &&
        (!kind || (old_kind && kind->scalar == old_kind->scalar))) {
      for (const auto& [inner, changed] : value.fields) set(*fabric, inner, changed);
    } else {
      set(base, key, value);
    }
  }
}

// `{import: KIND, file: FILE, gpu: NAME}`: the mapping that the file of another tool becomes; null after problems.
Value import_mapping(const Value& value, const std::filesystem::path& base, Problems& problems) {
  const Value &kind = *value.find("import"), *file = value.find("file"), *gpu = value.find("gpu");
  std::vector<std::string> names;
  for (const Importer& i : importers()) names.emplace_back(i.name);
  const Importer* importer = find_importer(kind.scalar);
  if (!importer) {
    problems.add({kind.where, "topology.import", kind.text(), "is no kind of file that can be imported",
                  suggestion(kind.scalar, names)});
    return {};
  }
  if (!file || file->kind != Value::Kind::scalar) {
    problems.add({value.where, "topology.file", "", "is missing", "Name the file to import"});
    return {};
  }
  std::filesystem::path path = base / file->scalar;
  std::error_code error;
  const auto beside = std::filesystem::path(file->where.file).parent_path() / file->scalar;
  if (!std::filesystem::exists(path, error) && std::filesystem::exists(beside, error)) path = beside;
  const auto imported = import_topology(*importer, path, gpu ? gpu->scalar : "", problems);
  return imported ? read_text(imported->yaml, path.string() + " (imported)", problems) : Value{};
}

// The mapping without `use` and `import`; null after problems.
Value resolve(const Value& value, const std::filesystem::path& base, int depth, Problems& problems) {
  if (depth > deepest_use) {
    problems.add({value.where, "topology.use", value.text(), "leads through too many files", "Is there a cycle?"});
    return {};
  }
  if (value.find("import")) {
    Value imported = import_mapping(value, base, problems);
    if (imported.kind == Value::Kind::map) override_with(imported, value);
    return imported;
  }
  if (value.kind == Value::Kind::map && !value.find("use")) return value;
  const bool with_changes = value.kind == Value::Kind::map;
  const Located file = locate(with_changes ? *value.find("use") : value, "topologies",
                              with_changes ? "topology.use" : "topology", base, problems);
  if (!file.found) return {};
  if (file.value.kind != Value::Kind::map) {
    problems.add(
        {{file.file.string(), 1}, "", "", "is not a topology: it must be a mapping", "See topologies/dgx-h100.yaml"});
    return {};
  }
  Value result = resolve(file.value, file.file.parent_path(), depth + 1, problems);
  if (with_changes && result.kind == Value::Kind::map) override_with(result, value);
  return result;
}

template <class Table>
const auto* row(const Table& table, Reader& reader, const std::string& fallback) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.push_back(entry.name);
  const std::string name = reader.has("kind") || fallback.empty() ? reader.choice("kind", names, "") : fallback;
  if (!reader.has("kind") && fallback.empty()) reader.fail("kind", "is missing", suggestion("", names));
  const auto found = std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.name == name; });
  return found == table.end() ? nullptr : &*found;
}

struct Host {
  const HostKind* kind = nullptr;
  HostGraph graph;
  DeviceSpec spec;
};

// `gpu` stands beside the host too, so that `{use: dgx-h100, gpu: h200}` can change it.
Host read_host(Reader& topology, const std::filesystem::path& base) {
  Host result;
  const Value* map = topology.raw("host");
  const Value* other_device = topology.raw("gpu");
  if (!map || map->kind != Value::Kind::map) {
    topology.fail("host", map ? "must be a mapping" : "is missing", "See topologies/dgx-h100.yaml, or say `use: NAME`");
    return result;
  }
  Reader host(*map, topology.path("host"), topology.problems());
  result.kind = row(host_kinds(), host, "");
  if (!result.kind) return result;
  const std::string device = result.kind->device;
  const std::string count = device == "gpu" ? "gpus" : "devices";
  result.graph.devices = static_cast<int>(host.require_integer(count, 1, 1024));
  for (int i = 0; i < result.graph.devices; ++i) result.graph.vertices.push_back(device + std::to_string(i));
  const std::string spec_key = device == "gpu" ? "gpu" : "device";
  const Value* spec = host.raw(spec_key);
  if (other_device) spec = other_device;
  if (spec)
    result.spec = load_device(*spec, base, topology.problems());
  else
    host.fail(spec_key, "is missing", "Name a file of topologies/gpu/");
  const std::size_t before = topology.problems().all().size();
  result.kind->build(host, result.graph);
  host.finish();
  if (topology.problems().all().size() != before) result.kind = nullptr;
  return result;
}

void add_hosts(Topology& topology, const Host& host, int used) {
  const auto nodes = static_cast<std::size_t>(topology.nodes);
  topology.specs = {host.spec};
  topology.devices.reserve(nodes * static_cast<std::size_t>(used));
  topology.links.reserve(nodes * (host.graph.links.size() + 2));  // two more a host for the fabric: seldom too few
  for (int node = 0; node < topology.nodes; ++node) {
    const std::string prefix = "node" + std::to_string(node) + ".";
    for (int local = 0; local < used; ++local)
      topology.devices.push_back({prefix + host.graph.vertices[static_cast<std::size_t>(local)], node, local, 0});
    for (const Link& link : host.graph.links) {
      topology.links.push_back(link);
      topology.links.back().name.insert(0, prefix);
    }
  }
}

// Reads the fabric; with one node it is checked and then of no use.
FabricRoutes read_fabric(Reader& reader, Topology& topology, const HostGraph& host) {
  Value map = reader.map_or_shorthand("fabric", "kind");
  Reader fabric(map, reader.path("fabric"), reader.problems());
  const FabricKind* kind = row(fabric_kinds(), fabric, "none");
  if (!kind) return {};
  FabricPlace place{topology.nodes, host.nics, {}, topology};
  if (host.nics > 0) place.nic = host.links[static_cast<std::size_t>(host.transmit[0])];
  FabricRoutes routes = kind->build(fabric, place);
  if (fabric.has("hash")) {  // static ECMP
    routes.hashed = true;
    routes.seed = static_cast<std::uint64_t>(fabric.integer("hash", 1, 0));
  }
  fabric.finish();
  return routes;
}

// Whether every device reaches every other: all pairs of one host, all pairs of two hosts, and each device of the
// cluster with the first one, both ways.
void check_connected(const Topology& topology, Reader& reader, int used) {
  std::vector<LinkId> links;
  const auto unreachable = [&](std::size_t a, std::size_t b) {
    const Device &from = topology.devices[a], &to = topology.devices[b];
    links.clear();
    if (a == b || topology.routing->route(from, to, -1, links)) return false;
    const bool network = from.node != to.node;
    reader.fail("", "is not connected: " + from.name + " cannot reach " + to.name,
                network && topology.nics_per_node() == 0 ? "The host has no network port (nics)"
                : network ? "Give it a fabric that joins all nodes, for example fabric: switch"
                          : "Add the links between them");
    return true;
  };
  const auto width = static_cast<std::size_t>(used);
  const std::size_t near = std::min(topology.devices.size(), 2 * width);
  for (std::size_t a = 0; a < near; ++a)
    for (std::size_t b = 0; b < near; ++b)
      if (unreachable(a, b)) return;
  for (std::size_t b = near; b < topology.devices.size(); ++b)
    if (unreachable(0, b) || unreachable(b, 0)) return;
}

// The overriding `devices: D`: shared-memory hosts may have more ranks than cores, GPU hosts use their first D. -1:
// absent.
int read_devices(Reader& reader, Value& map) {
  const Value* devices = reader.raw("devices");
  if (!devices) return -1;
  const Value number = *devices;
  const auto count = static_cast<int>(reader.integer("devices", 1, 1, 1024));
  Value* host = field(map, "host");
  const Value* kind = host ? host->find("kind") : nullptr;
  if (kind && kind->scalar == "shared-memory") set(*host, "devices", number);
  return count;
}

}  // namespace

Topology load_topology(const Value& value, const std::filesystem::path& base, Problems& problems) {
  const std::size_t before = problems.all().size();
  Topology topology;
  topology.where = value.where;
  Value map = resolve(value, base, 0, problems);
  if (map.kind != Value::Kind::map) {
    if (problems.all().size() == before)
      problems.add({value.where, "topology", value.text(), "must be a name, a path or a mapping", ""});
    return topology;
  }
  Reader reader(map, "topology", problems);
  int used = read_devices(reader, map);
  topology.name = reader.text("name", value.kind == Value::Kind::scalar ? value.scalar : "in place");
  topology.nodes = static_cast<int>(reader.integer("nodes", 1, 1, 65536));
  const Host host = read_host(reader, base);
  if (used < 0) used = host.graph.devices;
  if (host.kind && used > host.graph.devices)
    reader.fail("devices", "is more than the host's " + std::to_string(host.graph.devices) + " devices");
  if (problems.all().size() == before) add_hosts(topology, host, used);
  FabricRoutes fabric = read_fabric(reader, topology, host.graph);
  reader.finish();
  if (problems.all().size() != before) return topology;
  topology.in_switch_reduction = host.graph.in_switch_reduction;
  topology.routing = std::make_shared<Routing>(host.graph, used, std::move(fabric));
  check_connected(topology, reader, used);
  return topology;
}

}  // namespace trainwire
