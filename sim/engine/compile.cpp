#include "sim/engine/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "sim/engine/binding.h"
#include "sim/engine/contention.h"

namespace trainwire {

namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

void check(const World& world) {
  const Plan& plan = world.plan;
  const auto ranks = static_cast<std::size_t>(plan.mesh.size());
  if (world.placement.size() != ranks || plan.program_of.size() != ranks)
    throw std::logic_error(fmt::format("a plan for {} ranks has {} of them placed and {} with a program", ranks,
                                       world.placement.size(), plan.program_of.size()));
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto d = static_cast<std::size_t>(world.placement[r]);
    const auto p = static_cast<std::size_t>(plan.program_of[r]);
    if (d >= world.topology.devices.size() || p >= plan.programs.size())
      throw std::logic_error(
          fmt::format("rank {}: no device {} or no program {}", r, world.placement[r], plan.program_of[r]));
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    const DeviceSpec& spec = world.topology.spec(world.placement[r]);
    const double taken = spec.communication_slowdown.value;
    if (!(taken >= 0 && taken < 1) || !(spec.cpu.core_sharing >= 1))
      throw std::logic_error(fmt::format("{}: communication_slowdown {} must be in [0,1), core_sharing {} at least 1",
                                         spec.name, taken, spec.cpu.core_sharing));
  }
}

// Seconds by prototype, each asked once.
std::vector<double> price(const Pricing& pricing, const Program& program, const DeviceSpec& spec) {
  std::vector<double> seconds;
  for (const Op& op : program.ops) {
    if (is_communication(op.kind)) continue;
    if (op.prototype >= seconds.size()) seconds.resize(op.prototype + 1, std::numeric_limits<double>::quiet_NaN());
    double& s = seconds[op.prototype];
    if (!std::isnan(s)) continue;
    s = pricing.duration(program, op, spec).value;
    if (!(std::isfinite(s) && s >= 0))
      throw std::logic_error(fmt::format("{}: {} on {} takes {} s", program.role, op_name(program, op), spec.name, s));
  }
  return seconds;
}

SimHost host_of(const Pricing& pricing, const Program& program) {
  SimHost host;
  if (!pricing.issue) return host;
  double now = 0;
  for (const Op& op : program.ops) {
    const Issue issue = pricing.issue(program, op);
    now += issue.seconds;
    host.launched_s.push_back(now);
    host.waits.push_back(issue.waits);
  }
  return host;
}

void add_ranks(const World& world, const Fold& fold, const Groups& groups, const Domains& domains, Network& network) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> rows;  // (program, spec)
  std::vector<std::size_t> row_of;
  for (std::size_t c = 0; c < fold.ranks.count(); ++c) {
    SimRank rank;
    rank.rank = fold.ranks.first[c];
    rank.program = world.plan.program_of[at(rank.rank)];
    rank.domain = fold.domains.of[at(domains.of[at(rank.rank)])];
    rank.in_domain = 0;
    for (const std::int32_t g : groups.of[at(rank.rank)]) rank.groups.push_back(fold.groups.of[at(g)]);
    const DeviceId device = world.placement[at(rank.rank)];
    const auto [row, is_new] =
        rows.try_emplace({rank.program, world.topology.devices[at(device)].spec}, network.prices.size());
    if (is_new)
      network.prices.push_back(
          price(world.pricing, world.plan.programs[at(rank.program)], world.topology.spec(device)));
    row_of.push_back(row->second);
    network.ranks.push_back(std::move(rank));
  }
  for (std::size_t c = 0; c < row_of.size(); ++c) network.ranks[c].seconds = &network.prices[row_of[c]];
  for (std::size_t r = 0; r < domains.of.size(); ++r)
    if (fold.domains.is_first(at(domains.of[r]))) ++network.ranks[at(fold.ranks.of[r])].in_domain;
}

// Transfers of the group's operations, priced on its representative.
void add_transfers(const World& world, const Fold& fold, const Groups& groups, Network& network) {
  std::vector<std::map<std::pair<OpKind, double>, std::int32_t>> known(network.groups.size());
  for (SimRank& rank : network.ranks) {
    const CompiledProgram& program = network.programs[at(rank.program)];
    for (const Communication& c : program.communications) {
      const std::int32_t g = rank.groups[at(c.endpoint)];
      SimGroup& group = network.groups[at(g)];
      const auto [t, is_new] =
          known[at(g)].try_emplace({c.kind, c.bytes}, static_cast<std::int32_t>(group.transfers.size()));
      if (is_new) {
        const Group& representative = groups.groups[at(fold.groups.first[at(g)])];
        SimTransfer transfer;
        transfer.route = route_of(world, representative, c.kind, c.bytes);
        if (transfer.route >= 0) {
          const Flow flow = flow_of(world, representative, c.kind, c.bytes);
          transfer.latency_s = flow.latency.value;
          transfer.bytes = flow.bytes;
        }
        group.transfers.push_back(transfer);
      }
      rank.transfers.push_back(t->second);
    }
  }
}

void add_groups(const World& world, const Fold& fold, const Groups& groups, Network& network) {
  for (std::size_t c = 0; c < fold.groups.count(); ++c) {
    const Group& representative = groups.groups[at(fold.groups.first[c])];
    SimGroup group;
    group.axis = representative.axis;
    group.pair = representative.pair;
    for (const Rank r : representative.members) group.members.push_back(fold.ranks.of[at(r)]);
    if (!group.pair) {
      std::sort(group.members.begin(), group.members.end());
      group.members.erase(std::unique(group.members.begin(), group.members.end()), group.members.end());
    }
    std::map<std::int32_t, double> domains;
    for (const std::int32_t r : group.members) domains[network.ranks[at(r)].domain] += network.ranks[at(r)].in_domain;
    group.domains.assign(domains.begin(), domains.end());
    network.groups.push_back(std::move(group));
  }
  for (const SimRank& rank : network.ranks) {
    const auto& endpoints = network.programs[at(rank.program)].endpoints;
    for (std::size_t e = 0; e < endpoints.size(); ++e) {
      SimGroup& group = network.groups[at(rank.groups[e])];
      group.streams = std::max(group.streams, std::popcount(endpoints[e].streams));
    }
  }
  add_transfers(world, fold, groups, network);
}

// A link of a class carries, for a class of groups, the sum over the groups of that class that cross it.
void add_routes(const Fold& fold, const Groups& groups, Network& network) {
  using Weights = std::map<std::int32_t, double>;  // class of links -> weight
  std::vector<std::vector<Weights>> weights(network.groups.size());
  for (std::size_t g = 0; g < groups.groups.size(); ++g) {
    const std::vector<GroupRoute>& routes = groups.groups[g].routes;
    auto& of_class = weights[at(fold.groups.of[g])];
    of_class.resize(std::max(of_class.size(), routes.size()));
    for (std::size_t k = 0; k < routes.size(); ++k)
      for (const WeightedLink& l : routes[k].flow.links)
        if (fold.links.is_first(at(l.link))) of_class[k][fold.links.of[at(l.link)]] += l.weight;
  }
  for (std::size_t c = 0; c < network.groups.size(); ++c) {
    for (const Weights& w : weights[c]) {
      SimRoute route;
      for (const auto& [link, weight] : w) {
        route.all.push_back({link, weight});
        network.links[at(link)].used = true;
      }
      network.groups[c].routes.push_back(std::move(route));
    }
  }
}

void drop_links_that_never_bind(Network& network) {
  std::vector<double> capacity;
  for (const SimLink& link : network.links) capacity.push_back(link.capacity);
  std::vector<Load> loads;
  for (const SimGroup& group : network.groups) {
    Load load{{}, group.streams};
    for (const SimRoute& route : group.routes) load.routes.push_back(&route.all);
    loads.push_back(std::move(load));
  }
  const std::vector<bool> binding = binding_links(capacity, loads);
  for (SimGroup& group : network.groups)
    for (SimRoute& route : group.routes)
      for (const Hop& hop : route.all)
        if (binding[at(hop.link)]) route.binding.push_back(hop);
}

}  // namespace

Network compile(const World& world, bool fold_alike) {
  check(world);
  Network network;
  for (const Program& program : world.plan.programs) network.programs.push_back(compile(program, world.plan.mesh));
  for (const Program& program : world.plan.programs) network.hosts.push_back(host_of(world.pricing, program));
  const Groups groups = find_groups(world, network.programs);
  const Domains domains = find_domains(world);
  const Fold fold = find_classes(world, network.programs, groups, domains, fold_alike);
  add_ranks(world, fold, groups, domains, network);
  add_groups(world, fold, groups, network);
  for (const std::int32_t d : fold.domains.first) {
    const DeviceSpec& spec = world.topology.specs[at(domains.spec[at(d)])];
    network.domains.push_back({&spec, contended(spec)});
  }
  for (std::size_t c = 0; c < fold.links.count(); ++c) {
    const LinkId link = fold.links.first[c];
    network.links.push_back({link, world.topology.links[at(link)].effective(), fold.links.size[c], false});
  }
  add_routes(fold, groups, network);
  drop_links_that_never_bind(network);
  network.class_of_rank = fold.ranks.of;
  return network;
}

}  // namespace trainwire
