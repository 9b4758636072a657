// A scenario file and --set -> Scenario, or every problem found.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "sim/config/data_dir.h"
#include "sim/scenario/read.h"

namespace trainwire {
namespace {

namespace fs = std::filesystem;

// A name stands for a file in scenarios/.
fs::path find_scenario(const fs::path& file, Problems& problems) {
  std::error_code error;
  if (fs::exists(file, error) || file.has_parent_path() || file.has_extension()) return file;
  const fs::path shipped = data_dir() / "scenarios" / (file.string() + ".yaml");
  if (fs::exists(shipped, error)) return shipped;
  problems.add({{file.string(), 0},
                "",
                "",
                "there is no such file, nor a scenario of this name in scenarios/",
                suggestion(file.string(), names_in("scenarios", {".yaml"}))});
  return {};
}

// `key: x` becomes `key: {shorthand: x}`, so that --set can reach inside.
void expand_shorthand(Value* parent, const std::string& key, const std::string& shorthand) {
  if (parent == nullptr) return;
  for (auto& [name, value] : parent->fields) {
    if (name != key || value.kind != Value::Kind::scalar) continue;
    Value map;
    map.kind = Value::Kind::map;
    map.where = value.where;
    map.fields.emplace_back(shorthand, std::move(value));
    value = std::move(map);
  }
}

Value* find_field(Value& map, const std::string& key) {
  for (auto& [name, value] : map.fields) {
    if (name == key) return &value;
  }
  return nullptr;
}

void apply_overrides(Value& root, const std::vector<std::string>& overrides, Problems& problems) {
  for (std::string assignment : overrides) {
    const std::string key = assignment.substr(0, assignment.find('='));
    for (const std::string section : {"model", "topology"}) {
      if (key.starts_with(section + ".")) expand_shorthand(&root, section, "use");
    }
    for (const std::string axis : {"tensor", "context", "expert", "data", "pipeline"}) {
      const std::string name = "strategy." + axis;
      if (key != name && !key.starts_with(name + ".")) continue;
      expand_shorthand(find_field(root, "strategy"), axis, "degree");
      // A bare value changes the degree alone: the rest of the axis stays as the file has it.
      if (key == name && assignment.find_first_of("{[", key.size()) == std::string::npos &&
          assignment.size() > key.size()) {
        assignment.insert(key.size(), ".degree");
      }
    }
    apply_override(root, assignment, problems);
  }
}

void collect_files(const Value& value, std::set<std::string>& files) {
  if (!value.where.file.empty() && value.where.file != "--set") files.insert(value.where.file);
  for (const Value& item : value.items) collect_files(item, files);
  for (const auto& [key, field] : value.fields) collect_files(field, files);
}

// Paths inside a file are relative to that file.
fs::path folder_of(const Value& value, const fs::path& scenario) {
  const fs::path file = value.where.file.empty() || value.where.file == "--set" ? scenario : fs::path(value.where.file);
  return file.parent_path();
}

template <class T, class Load>
bool load_part(Reader& reader, const std::string& key, const fs::path& file, Load load, T& out) {
  Problems& problems = reader.problems();
  const Value* value = reader.raw(key);
  if (value == nullptr || value->kind == Value::Kind::null) {
    const std::string folder = key == "model" ? "models" : "topologies";
    reader.fail(key, "is missing",
                fmt::format("Known: {}", fmt::join(names_in(folder, {".yaml", ".yml", ".json"}), ", ")));
    return false;
  }
  const std::size_t before = problems.all().size();
  out = load(*value, folder_of(*value, file), problems);
  return problems.all().size() == before;
}

Scenario read_scenario(const Value& root, const fs::path& file, Problems& problems) {
  Scenario s;
  s.file = file;
  Reader reader(root, "", problems);
  s.name = reader.text("name", file.stem().string());
  s.question = reader.text("question", "");
  const bool model_known = load_part(reader, "model", file, load_model, s.model);
  const bool topology_known = load_part(reader, "topology", file, load_topology, s.topology);
  const Value* training = reader.raw("training");
  const Value* strategy = reader.raw("strategy");
  const Value nothing;
  s.training = read_training(training == nullptr ? nothing : *training, problems);
  StrategySection section = read_strategy(strategy == nullptr ? nothing : *strategy, problems);
  read_disturbances(reader, s, topology_known);
  read_collectives(reader, s);
  s.placement = read_placement(reader, topology_known ? s.topology.devices.size() : 0);
  reader.finish();

  Checks checks(root, problems);
  const bool degrees_known = topology_known && section.sound && check_world(section, s.topology, checks);
  s.strategy = section.strategy;
  if (model_known) check_model(s, degrees_known, checks);
  if (topology_known) check_devices(s, checks);
  if (degrees_known) check_data(s, checks);
  return s;
}

}  // namespace

Scenario load_scenario(const fs::path& file, const std::vector<std::string>& overrides) {
  Problems problems;
  const fs::path found = find_scenario(file, problems);
  problems.throw_if_any();
  Value root = read_file(found, problems);
  problems.throw_if_any();
  return load_scenario(std::move(root), found, overrides);
}

Scenario load_scenario(Value root, const fs::path& found, const std::vector<std::string>& overrides) {
  Problems problems;
  if (root.kind == Value::Kind::null) {
    problems.add({{found.string(), 1}, "", "", "is empty", "A scenario names at least a model and a topology"});
    problems.throw_if_any();
  }
  if (root.kind != Value::Kind::map) {
    problems.add({root.where, "", root.text(), "a scenario is a mapping (key: value)", ""});
    problems.throw_if_any();
  }
  apply_overrides(root, overrides, problems);
  Scenario s = read_scenario(root, found, problems);
  problems.throw_if_any();

  std::array<int, axis_count> degrees{};
  for (const Axis axis : s.strategy.order) degrees[static_cast<std::size_t>(axis)] = degree_of(s.strategy, axis);
  if (s.strategy.data.sharding == Sharding::hsdp) {
    degrees[static_cast<std::size_t>(Axis::data)] = s.strategy.data.shard;
    degrees[static_cast<std::size_t>(Axis::replica)] = s.strategy.data.degree / s.strategy.data.shard;
  }
  s.mesh = DeviceMesh(degrees, s.strategy.order);
  std::set<std::string> files;
  collect_files(root, files);
  for (const Where& where : {s.model.where, s.topology.where}) {
    if (!where.file.empty() && where.file != "--set") files.insert(where.file);
  }
  s.inputs.assign(files.begin(), files.end());
  return s;
}

}  // namespace trainwire
