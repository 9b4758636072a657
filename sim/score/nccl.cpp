// Tables of NCCL operations inside one host: the flow that the simulator would run, alone on its links.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/collective/collective.h"
#include "sim/config/data_dir.h"
#include "sim/score/tables.h"

namespace trainwire {
namespace {

struct Operation {
  const char* name;
  OpKind kind;
};
constexpr Operation operations[] = {{"all_reduce", OpKind::all_reduce},
                                    {"all_gather", OpKind::all_gather},
                                    {"reduce_scatter", OpKind::reduce_scatter},
                                    {"alltoall", OpKind::all_to_all}};

const Operation* find(const std::string& name) {
  for (const Operation& o : operations)
    if (name == o.name) return &o;
  return nullptr;
}

// Seconds of a collective that has its links for itself.
double seconds(OpKind kind, const std::vector<DeviceId>& devices, double bytes, const Topology& topology) {
  const Flow flow = choose_algorithm(kind, devices, bytes, topology).flow(kind, devices, bytes, topology);
  double rate = std::numeric_limits<double>::infinity();
  for (const WeightedLink& l : flow.links)
    rate = std::min(rate, topology.links[static_cast<std::size_t>(l.link)].effective() / l.weight);
  return flow.latency.value + flow.bytes / rate;
}

Topology load_machine(const Csv& csv) {
  Problems problems;
  const std::string name = machine_file(csv.stem());
  if (name.empty())
    problems.add({{csv.file.string(), 0}, "", "", "the file's name names no machine that is known",
                  "Rename it, for example to h100_sxm.csv"});
  problems.throw_if_any();
  Value value;
  value.kind = Value::Kind::scalar;
  value.scalar = name;
  value.where = {csv.file.string(), 0};
  Topology topology = load_topology(value, data_dir(), problems);
  problems.throw_if_any();
  return topology;
}

}  // namespace

bool is_nccl(const Csv& csv) { return csv.has({"op", "gpus", "message_size", "dtype", "latency_us"}); }

ScoreTable read_nccl(const Csv& csv) {
  const Topology machine = load_machine(csv);
  ScoreTable table;
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    ScoreRow row;
    const std::string& dtype = csv.at(i, "dtype");
    const double bytes = csv.number(i, "message_size") * (dtype == "int8" ? 1 : dtype == "float" ? 4 : 2);
    const auto gpus = static_cast<std::size_t>(csv.number(i, "gpus"));
    row.id = fmt::format("{}:{}", csv.stem(), csv.lines[i]);
    row.measured_s = csv.number(i, "latency_us") * 1e-6;
    row.groups = {fmt::format("{} {}", csv.at(i, "op"), bytes >= 1 << 20 ? ">= 1 MiB" : "< 1 MiB"),
                  bytes >= 1 << 20 ? "all >= 1 MiB" : "all < 1 MiB"};
    std::vector<DeviceId> devices;
    for (std::size_t d = 0; d < gpus; ++d) devices.push_back(static_cast<DeviceId>(d));
    const Operation* operation = find(csv.at(i, "op"));
    if (operation == nullptr)
      row.reason = fmt::format("no operation {}", csv.at(i, "op"));
    else if (gpus > machine.devices.size())
      row.reason = fmt::format("{} has {} GPUs", machine.name, machine.devices.size());
    else
      row.predicted_s = seconds(operation->kind, devices, bytes, machine);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace trainwire
