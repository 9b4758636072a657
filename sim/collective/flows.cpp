// Latency: the longest chain of messages that wait for one another. Bytes: what the busiest link of weight 1 carries.
#include "sim/collective/flows.h"

#include <algorithm>

#include "sim/collective/protocol.h"
#include "sim/collective/rings.h"
#include "sim/collective/steps.h"

namespace trainwire {
namespace {

void append(std::vector<LinkId>& crossings, const Path& path) {
  crossings.insert(crossings.end(), path.links.begin(), path.links.end());
}

// The slowest way of a message along `hops` consecutive edges of a ring, hops < 2 · members. A chunk goes from member
// to member, so with equal edges this is hops · latency of one.
double longest_way(const std::vector<double>& edges, int hops) {
  const auto n = edges.size();
  double way = 0;
  for (int h = 0; h < hops; ++h) way += edges[static_cast<std::size_t>(h) % n];
  double longest = way;
  for (std::size_t start = 1; start < n; ++start) {
    way += edges[(start - 1 + static_cast<std::size_t>(hops)) % n] - edges[start - 1];
    longest = std::max(longest, way);
  }
  return longest;
}

// Every message of a step list at once; a unit of progress is a byte of a chunk.
Flow flow_of_steps(const StepList& list, std::span<const DeviceId> devices, double bytes, const Topology& topology) {
  std::vector<LinkId> crossings;
  std::vector<double> slowest(static_cast<std::size_t>(list.rounds));
  for (const Step& step : list.steps) {
    const Path path =
        topology.route(devices[static_cast<std::size_t>(step.from)], devices[static_cast<std::size_t>(step.to)]);
    double& round = slowest[static_cast<std::size_t>(step.round)];
    round = std::max(round, topology.latency(path).value);
    append(crossings, path);
  }
  double latency = 0;
  for (const double round : slowest) latency += round;
  return {Seconds(latency), bytes / list.chunks, count_links(crossings), "", ""};
}

}  // namespace

std::vector<WeightedLink> count_links(std::vector<LinkId>& crossings) {
  std::sort(crossings.begin(), crossings.end());
  std::vector<WeightedLink> links;
  for (const LinkId link : crossings) {
    if (links.empty() || links.back().link != link) links.push_back({link, 0});
    links.back().weight += 1;
  }
  return links;
}

Seconds alone(const Flow& flow, const Topology& topology) {
  double seconds_a_byte = 0;
  for (const auto& [link, weight] : flow.links)
    seconds_a_byte = std::max(seconds_a_byte, weight / topology.links[static_cast<std::size_t>(link)].effective());
  return flow.latency + Seconds(flow.bytes * seconds_a_byte);
}

Flow ring_flow(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology& topology) {
  const auto n = static_cast<int>(devices.size());
  if (n < 2) return {Seconds(0), 0, {}, "ring", ""};
  const int rounds = kind == OpKind::all_reduce ? 2 * (n - 1) : n - 1;
  std::vector<LinkId> crossings;
  double latency = 0;
  const auto channels = rings(devices, topology);
  std::vector<double> edges(devices.size());
  for (const Ring& ring : channels) {
    for (std::size_t i = 0; i < ring.order.size(); ++i) {
      const Path path = topology.route(ring.order[i], ring.order[(i + 1) % ring.order.size()], ring.nic);
      edges[i] = topology.latency(path).value;
      append(crossings, path);
    }
    latency = std::max(latency, longest_way(edges, rounds));
  }
  const double progress = bytes * rounds / n / static_cast<double>(channels.size());
  Flow flow{Seconds(latency), progress, count_links(crossings), "ring", ""};
  use_best_protocol(flow, devices, topology);
  return flow;
}

Flow direct_flow(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology& topology) {
  Flow flow = flow_of_steps(direct_steps(kind, static_cast<int>(devices.size())), devices, bytes, topology);
  flow.algorithm = "direct";
  return flow;
}

Flow halving_doubling_flow(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology& topology) {
  Flow flow = flow_of_steps(halving_doubling_steps(kind, static_cast<int>(devices.size())), devices, bytes, topology);
  flow.algorithm = "halving-doubling";
  return flow;
}

}  // namespace trainwire
