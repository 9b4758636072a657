// `disturbances:` of a scenario, applied to its topology:
//   - {slow_device: node0.gpu3, speed: 0.5}
//   - {degraded_link: node0.nic1.transmit, capacity: 0.25}     a name without its direction means both
//   - {background: leaf0.spine0.up, rate: 20 GB/s}             other traffic that does not give way
//   - {failed_link: node1.nic0}
//   - {jitter: 0.02, runs: 20, seed: 1}                        each run draws each device's speed anew
#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/read.h"
#include "sim/topology/disturb.h"

namespace trainwire {
namespace {

struct Disturbing {
  Scenario& scenario;
  bool topology_known;
  std::vector<LinkId> failed;
  Reader* last_failure = nullptr;

  std::vector<LinkId> links(Reader& item, const std::string& key) const {
    const std::string name = item.require_text(key);
    if (!topology_known || name.empty()) return {};
    auto found = links_named(scenario.topology, name);
    if (!found.empty()) return found;
    std::vector<std::string> names;
    for (const Link& link : scenario.topology.links) {
      if (names.size() > 4096) break;
      names.push_back(link.name);
      names.push_back(link.name.substr(0, link.name.rfind('.')));
    }
    const auto near = nearest(name, names);
    item.fail(key, "is no link of this topology",
              near.empty() ? fmt::format("Links have names like {}",
                                         scenario.topology.links.empty() ? "-" : scenario.topology.links[0].name)
                           : suggestion(name, near));
    return {};
  }

  void slow_device(Reader& item) {
    const std::string name = item.require_text("slow_device");
    const double speed = item.number("speed", 0.5, 0.001, 1000);
    if (!topology_known) return;
    Topology& t = scenario.topology;
    const auto found =
        std::find_if(t.devices.begin(), t.devices.end(), [&](const Device& d) { return d.name == name; });
    if (found != t.devices.end()) return set_speed(t, static_cast<DeviceId>(found - t.devices.begin()), speed);
    item.fail("slow_device", "is no device of this topology",
              fmt::format("Devices are {} to {}", t.devices.front().name, t.devices.back().name));
  }
  void degraded_link(Reader& item) {
    const double capacity = item.number("capacity", 0.5, 1e-6, 1);
    for (const LinkId link : links(item, "degraded_link")) {
      auto& bandwidth = scenario.topology.links[static_cast<std::size_t>(link)].bandwidth;
      bandwidth.value = bandwidth.value * capacity;
    }
  }
  void background(Reader& item) {
    const auto rate = item.require_quantity<Bandwidth>("rate");
    for (const LinkId id : links(item, "background")) {
      Link& link = scenario.topology.links[static_cast<std::size_t>(id)];
      if (rate.value >= link.effective())
        return item.fail("rate", fmt::format("leaves nothing of {}, which carries {}", link.name,
                                             to_text(Bandwidth(link.effective()))));
      link.bandwidth.value = link.bandwidth.value - rate / link.efficiency.value;
    }
  }
  void jitter(Reader& item) {
    scenario.jitter.spread = item.number("jitter", 0, 0, 1);
    scenario.jitter.runs = static_cast<int>(item.integer("runs", 20, 1, 10'000));
    scenario.jitter.seed = static_cast<std::uint64_t>(item.integer("seed", 1, 0));
  }
};

}  // namespace

void read_disturbances(Reader& reader, Scenario& scenario, bool topology_known) {
  const Value* list = reader.raw("disturbances");
  if (list == nullptr || list->kind == Value::Kind::null) return;
  if (list->kind != Value::Kind::list) return reader.fail("disturbances", "must be a list");
  Disturbing apply{scenario, topology_known, {}};
  const Value* failure = nullptr;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    Reader item(list->items[i], fmt::format("disturbances[{}]", i), reader.problems());
    if (item.has("slow_device")) {
      apply.slow_device(item);
    } else if (item.has("degraded_link")) {
      apply.degraded_link(item);
    } else if (item.has("background")) {
      apply.background(item);
    } else if (item.has("jitter")) {
      apply.jitter(item);
    } else if (item.has("failed_link")) {
      const auto links = apply.links(item, "failed_link");
      apply.failed.insert(apply.failed.end(), links.begin(), links.end());
      failure = &list->items[i];
    } else {
      item.fail("", "names no disturbance", "Known: slow_device, degraded_link, failed_link, background, jitter");
      continue;
    }
    item.finish();
  }
  if (apply.failed.empty()) return;
  if (const std::string cut = fail_links(scenario.topology, apply.failed); !cut.empty())
    reader.problems().add({failure->where, "disturbances", failure->text(), "cuts the cluster: " + cut,
                           "Leave another way, or take the devices behind it out"});
}

}  // namespace trainwire
