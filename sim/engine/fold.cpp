#include "sim/engine/fold.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string_view>
#include <unordered_map>

#include "sim/engine/contention.h"

namespace trainwire {

namespace {

using Colour = std::uint64_t;
using Colours = std::vector<Colour>;

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014). Colours are 64-bit hashes: among a million different things
// two share one with a probability below 10^-7.
Colour mix(Colour x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}
Colour mix(Colour a, Colour b) { return mix(a ^ mix(b)); }

// Sums of the same numbers in another order differ in the last digits: those do not count.
Colour number(double value) { return mix(std::bit_cast<std::uint32_t>(static_cast<float>(value))); }

// A tie between two things: each counts the other's colour under the label.
struct Tie {
  std::uint32_t a, b;
  Colour label;
};

// Adds to each end what it sees at the other one: a sum, so that the order does not matter.
void look(const std::vector<Tie>& ties, const Colours& a, const Colours& b, Colours& a_sees, Colours& b_sees) {
  for (const Tie& t : ties) {
    a_sees[t.a] += mix(t.label, b[t.b]);
    b_sees[t.b] += mix(t.label, a[t.a]);
  }
}

std::size_t count_different(Colours colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

struct Network {
  Colours ranks, groups, links, domains;
  std::vector<Tie> rank_group, rank_domain, group_link;

  std::size_t classes() const {
    return count_different(ranks) + count_different(groups) + count_different(links) + count_different(domains);
  }

  // One round of colour refinement: what looked alike stays so if it sees the same around it.
  void refine() {
    Colours r(ranks.size()), g(groups.size()), l(links.size()), d(domains.size());
    look(rank_group, ranks, groups, r, g);
    look(rank_domain, ranks, domains, r, d);
    look(group_link, groups, links, g, l);
    const auto update = [](Colours& old, const Colours& seen) {
      for (std::size_t i = 0; i < old.size(); ++i) old[i] = mix(old[i], seen[i]);
    };
    update(ranks, r);
    update(groups, g);
    update(links, l);
    update(domains, d);
  }
};

Colour label(const Endpoint& e) {
  return mix(static_cast<Colour>(e.part) * 64 + static_cast<Colour>(e.axis), static_cast<Colour>(e.steps));
}

Colour label(const GroupRoute& route) {
  return mix(static_cast<Colour>(route.kind), std::hash<std::string_view>{}(route.algorithm->name));
}

void add_groups(const Groups& groups, Network& network) {
  for (std::size_t g = 0; g < groups.groups.size(); ++g) {
    const Group& group = groups.groups[g];
    Colour start = mix(static_cast<Colour>(group.axis) * 2 + group.pair, group.members.size());
    for (const GroupRoute& route : group.routes) {
      start += mix(label(route), mix(number(route.flow.latency.value), number(route.flow.bytes)));
      for (const WeightedLink& l : route.flow.links) {
        network.group_link.push_back(
            {static_cast<std::uint32_t>(g), static_cast<std::uint32_t>(l.link), mix(label(route), number(l.weight))});
      }
    }
    network.groups.push_back(start);
  }
}

Network build(const World& world, const std::vector<CompiledProgram>& programs, const Groups& groups,
              const Domains& domains) {
  Network network;
  for (std::size_t r = 0; r < world.placement.size(); ++r) {
    const auto program = static_cast<std::size_t>(world.plan.program_of[r]);
    const auto spec = static_cast<Colour>(world.topology.devices[static_cast<std::size_t>(world.placement[r])].spec);
    network.ranks.push_back(mix(program, spec));
    const auto rank = static_cast<std::uint32_t>(r);
    network.rank_domain.push_back({rank, static_cast<std::uint32_t>(domains.of[r]), 0});
    for (std::size_t e = 0; e < groups.of[r].size(); ++e)
      network.rank_group.push_back(
          {rank, static_cast<std::uint32_t>(groups.of[r][e]), label(programs[program].endpoints[e])});
  }
  add_groups(groups, network);
  for (const Link& link : world.topology.links)
    network.links.push_back(mix(std::bit_cast<Colour>(link.effective()), static_cast<Colour>(link.kind)));
  for (const std::int32_t spec : domains.spec) network.domains.push_back(static_cast<Colour>(spec));
  return network;
}

Classes classes_of(const Colours& colours) {
  Classes classes;
  std::unordered_map<Colour, std::int32_t> known;
  for (std::size_t i = 0; i < colours.size(); ++i) {
    const auto [c, is_new] = known.try_emplace(colours[i], static_cast<std::int32_t>(classes.first.size()));
    if (is_new) {
      classes.first.push_back(static_cast<std::int32_t>(i));
      classes.size.push_back(0);
    }
    classes.of.push_back(c->second);
    ++classes.size[static_cast<std::size_t>(c->second)];
  }
  return classes;
}

Classes each_alone(std::size_t count) {
  Colours colours(count);
  for (std::size_t i = 0; i < count; ++i) colours[i] = i;
  return classes_of(colours);
}

}  // namespace

Domains find_domains(const World& world) {
  Domains domains;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> known;  // (host or -1 - device, spec)
  for (const DeviceId d : world.placement) {
    const Device& device = world.topology.devices[static_cast<std::size_t>(d)];
    const std::int32_t place = shares_host(world.topology.spec(d)) ? device.node : -1 - d;
    const auto [k, is_new] = known.try_emplace({place, device.spec}, static_cast<std::int32_t>(domains.spec.size()));
    if (is_new) domains.spec.push_back(device.spec);
    domains.of.push_back(k->second);
  }
  return domains;
}

Fold find_classes(const World& world, const std::vector<CompiledProgram>& programs, const Groups& groups,
                  const Domains& domains, bool fold) {
  if (!fold) {
    return {each_alone(world.placement.size()), each_alone(groups.groups.size()),
            each_alone(world.topology.links.size()), each_alone(domains.spec.size())};
  }
  Network network = build(world, programs, groups, domains);
  for (std::size_t before = 0, now = network.classes(); now > before;) {
    network.refine();
    before = std::exchange(now, network.classes());
  }
  return {classes_of(network.ranks), classes_of(network.groups), classes_of(network.links),
          classes_of(network.domains)};
}

}  // namespace trainwire
