#include "tests/engine/hand_made.h"

#include <algorithm>
#include <numeric>

namespace trainwire::hand_made {

namespace {

Link link(std::string name, LinkClass kind, double bandwidth, double latency) {
  Link made;
  made.name = std::move(name);
  made.kind = kind;
  made.bandwidth.value = Bandwidth(bandwidth);
  made.latency.value = Seconds(latency);
  made.efficiency.value = 1;
  return made;
}

// Links as Cluster::topology() numbers them: two a device, two a host, the spine.
std::vector<LinkId> path(const Topology& t, DeviceId from, DeviceId to) {
  if (from == to) return {};
  const auto devices = static_cast<LinkId>(t.devices.size());
  const int a = t.devices[static_cast<std::size_t>(from)].node, b = t.devices[static_cast<std::size_t>(to)].node;
  if (a == b) return {2 * from, 2 * to + 1};
  return {2 * from, 2 * devices + 2 * a, static_cast<LinkId>(t.links.size()) - 1, 2 * devices + 2 * b + 1, 2 * to + 1};
}

double latency(const Topology& t, const std::vector<LinkId>& links) {
  double sum = 0;
  for (const LinkId l : links) sum += t.links[static_cast<std::size_t>(l)].latency.value.value;
  return sum;
}

Flow ring(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology& topology) {
  const auto n = static_cast<double>(devices.size());
  const double steps = (kind == OpKind::all_reduce ? 2 : 1) * (n - 1);
  Flow flow;
  double slowest = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto links = path(topology, devices[i], devices[(i + 1) % devices.size()]);
    slowest = std::max(slowest, latency(topology, links));
    for (const LinkId l : links) flow.links.push_back({l, 1});
  }
  flow.latency = Seconds(steps * slowest);
  flow.bytes = steps / n * bytes;
  return flow;
}

Flow direct(OpKind, std::span<const DeviceId> devices, double bytes, const Topology& topology) {
  Flow flow;
  const auto links = path(topology, devices[0], devices[1]);
  for (const LinkId l : links) flow.links.push_back({l, 1});
  flow.latency = Seconds(latency(topology, links));
  flow.bytes = bytes;
  return flow;
}

bool any(OpKind) { return true; }
StepList no_steps(OpKind, int) { return {}; }

}  // namespace

Topology Cluster::topology() const {
  Topology t;
  t.name = "hand-made";
  t.nodes = hosts;
  t.specs.push_back(spec);
  for (int h = 0; h < hosts; ++h) {
    for (int d = 0; d < devices; ++d) {
      const std::string name = "node" + std::to_string(h) + ".gpu" + std::to_string(d);
      t.devices.push_back({name, h, d, 0});
      t.links.push_back(link(name + ".up", LinkClass::nvlink, device_bandwidth, latency_s));
      t.links.push_back(link(name + ".down", LinkClass::nvlink, device_bandwidth, latency_s));
    }
  }
  for (int h = 0; h < hosts; ++h) {
    t.links.push_back(link("node" + std::to_string(h) + ".port.up", LinkClass::nic, port_bandwidth, latency_s));
    t.links.push_back(link("node" + std::to_string(h) + ".port.down", LinkClass::nic, port_bandwidth, latency_s));
  }
  t.links.push_back(link("spine", LinkClass::fabric, spine_bandwidth, latency_s));
  return t;
}

Writer::Writer(std::string role) { program_.role = std::move(role); }

OpId Writer::add(Op op, const std::vector<OpId>& after) {
  op.dependencies = {static_cast<std::uint32_t>(program_.dependencies.size()),
                     static_cast<std::uint32_t>(after.size())};
  program_.dependencies.insert(program_.dependencies.end(), after.begin(), after.end());
  program_.ops.push_back(op);
  return static_cast<OpId>(program_.ops.size()) - 1;
}

OpId Writer::compute(int microseconds, std::vector<OpId> after, Stream stream) {
  Op op;
  op.stream = stream;
  op.prototype = static_cast<std::uint32_t>(microseconds);
  return add(op, after);
}

OpId Writer::communicate(OpKind kind, Axis axis, Stream stream, std::int64_t bytes, std::uint32_t tag,
                         std::vector<OpId> after, int peer) {
  Op op;
  op.kind = kind;
  op.axis = axis;
  op.stream = stream;
  op.tag = tag;
  op.peer = peer;
  Tensor tensor;
  tensor.name = "t" + std::to_string(tag);
  tensor.shape = {bytes};
  tensor.dtype = DType::fp8;  // a byte an element
  program_.tensors.push_back(tensor);
  program_.buffers.push_back({static_cast<TensorId>(program_.tensors.size()) - 1, -1});
  const Range operand{static_cast<std::uint32_t>(program_.operands.size()), 1};
  program_.operands.push_back(static_cast<BufferId>(program_.buffers.size()) - 1);
  op.inputs = op.outputs = operand;
  return add(op, after);
}

DeviceMesh mesh(int tensor, int data, int pipeline) {
  return DeviceMesh({tensor, 1, 1, data, pipeline},
                    {Axis::tensor, Axis::context, Axis::expert, Axis::data, Axis::pipeline});
}

Plan on_axis(Axis axis, int ranks, const Program& program) {
  std::array<int, axis_count> degrees{1, 1, 1, 1, 1};
  degrees[static_cast<std::size_t>(axis)] = ranks;
  Plan plan;
  plan.mesh = DeviceMesh(degrees, Strategy{}.order);
  plan.programs = {program};
  plan.program_of.assign(static_cast<std::size_t>(ranks), 0);
  return plan;
}

Plan staged(DeviceMesh device_mesh, std::vector<Program> programs) {
  Plan plan;
  plan.mesh = device_mesh;
  plan.programs = std::move(programs);
  for (Rank r = 0; r < device_mesh.size(); ++r) plan.program_of.push_back(device_mesh.coordinate(r, Axis::pipeline));
  return plan;
}

std::vector<DeviceId> in_order(const Plan& plan) {
  std::vector<DeviceId> placement(static_cast<std::size_t>(plan.mesh.size()));
  std::iota(placement.begin(), placement.end(), 0);
  return placement;
}

const Pricing& pricing() {
  static const CollectiveAlgorithm ring_row{"ring", any, no_steps, ring};
  static const CollectiveAlgorithm direct_row{"direct", any, no_steps, direct};
  static const Pricing prices{
      [](const Program&, const Op& op, const DeviceSpec&) { return Seconds(1e-6 * op.prototype); },
      [](OpKind kind, Axis, std::span<const DeviceId>, double, const Topology&) -> const CollectiveAlgorithm& {
        return kind == OpKind::send ? direct_row : ring_row;
      }};
  return prices;
}

Timeline run(const Plan& plan, const Topology& topology, const SimulateOptions& options) {
  return simulate(World{plan, topology, in_order(plan), pricing()}, options);
}

}  // namespace trainwire::hand_made
