#include "sim/engine/groups.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <unordered_map>

namespace trainwire {

namespace {

std::vector<DeviceId> devices_of(const World& world, const Group& group) {
  std::vector<DeviceId> devices;
  devices.reserve(group.members.size());
  for (const Rank r : group.members) devices.push_back(world.placement[static_cast<std::size_t>(r)]);
  return devices;
}

// A group's members for one of them and its endpoint; for an axis' group only the first.
std::pair<Rank, Rank> ends_of(const DeviceMesh& mesh, Rank rank, const Endpoint& endpoint) {
  if (endpoint.part == Endpoint::Part::member) {
    const Rank first = mesh.neighbour(rank, endpoint.axis, 0);
    return {first, first};
  }
  const int coordinate = (mesh.coordinate(rank, endpoint.axis) + endpoint.steps) % mesh.degree(endpoint.axis);
  const Rank other = mesh.neighbour(rank, endpoint.axis, coordinate);
  return endpoint.part == Endpoint::Part::sender ? std::pair(rank, other) : std::pair(other, rank);
}

void add_routes(const World& world, const CompiledProgram& program, const std::vector<std::int32_t>& groups_of_rank,
                Rank rank, std::vector<Group>& groups) {
  for (const Communication& c : program.communications) {
    Group& group = groups[static_cast<std::size_t>(groups_of_rank[static_cast<std::size_t>(c.endpoint)])];
    const Rank first = group.members[0];
    const bool as_first = first != rank && world.plan.program_of[static_cast<std::size_t>(first)] ==
                                               world.plan.program_of[static_cast<std::size_t>(rank)];
    const bool receives = program.endpoints[static_cast<std::size_t>(c.endpoint)].part == Endpoint::Part::receiver;
    if ((as_first && !group.pair) || receives || group.members.size() < 2) continue;
    if (route_of(world, group, c.kind, c.bytes) >= 0) continue;
    const CollectiveAlgorithm& algorithm =
        world.pricing.algorithm(c.kind, group.axis, devices_of(world, group), c.bytes, world.topology);
    group.routes.push_back({c.kind, &algorithm, flow_of(world, group, c.kind, c.bytes)});
  }
}

}  // namespace

Groups find_groups(const World& world, const std::vector<CompiledProgram>& programs) {
  Groups result;
  std::unordered_map<std::uint64_t, std::int32_t> known;
  const DeviceMesh& mesh = world.plan.mesh;
  result.of.resize(static_cast<std::size_t>(mesh.size()));
  for (Rank rank = 0; rank < mesh.size(); ++rank) {
    auto& of_rank = result.of[static_cast<std::size_t>(rank)];
    const auto& program = programs[static_cast<std::size_t>(world.plan.program_of[static_cast<std::size_t>(rank)])];
    for (const Endpoint& endpoint : program.endpoints) {
      const bool pair = endpoint.part != Endpoint::Part::member;
      const auto [from, to] = ends_of(mesh, rank, endpoint);
      const std::uint64_t key = (static_cast<std::uint64_t>(endpoint.axis) * 2 + pair) << 56 |
                                static_cast<std::uint64_t>(from) << 28 | static_cast<std::uint64_t>(to);
      const auto [g, is_new] = known.try_emplace(key, static_cast<std::int32_t>(result.groups.size()));
      if (is_new) {
        Group group{endpoint.axis, pair, {}, {}};
        group.members = pair ? std::vector<Rank>{from, to} : mesh.group(rank, endpoint.axis);
        result.groups.push_back(std::move(group));
      }
      of_rank.push_back(g->second);
    }
    add_routes(world, program, of_rank, rank, result.groups);
  }
  return result;
}

int route_of(const World& world, const Group& group, OpKind kind, double bytes) {
  const CollectiveAlgorithm* algorithm = nullptr;
  for (std::size_t i = 0; i < group.routes.size(); ++i) {
    const GroupRoute& route = group.routes[i];
    if (route.kind != kind) continue;
    if (algorithm == nullptr)
      algorithm = &world.pricing.algorithm(kind, group.axis, devices_of(world, group), bytes, world.topology);
    if (route.algorithm == algorithm) return static_cast<int>(i);
  }
  return -1;
}

Flow flow_of(const World& world, const Group& group, OpKind kind, double bytes) {
  const std::vector<DeviceId> devices = devices_of(world, group);
  Flow flow = world.pricing.algorithm(kind, group.axis, devices, bytes, world.topology)
                  .flow(kind, devices, bytes, world.topology);
  bool sound =
      std::isfinite(flow.latency.value) && flow.latency.value >= 0 && std::isfinite(flow.bytes) && flow.bytes >= 0;
  for (const WeightedLink& l : flow.links) {
    sound = sound && l.link >= 0 && static_cast<std::size_t>(l.link) < world.topology.links.size() &&
            std::isfinite(l.weight) && l.weight > 0 &&
            world.topology.links[static_cast<std::size_t>(l.link)].effective() > 0;
  }
  if (!sound)
    throw std::logic_error(
        fmt::format("{} of {} bytes over {} among {} ranks from rank {}: its flow cannot be simulated", to_text(kind),
                    bytes, to_text(group.axis), group.members.size(), group.members[0]));
  return flow;
}

}  // namespace trainwire
