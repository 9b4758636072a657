#include "sim/engine/binding.h"

#include <algorithm>
#include <limits>

namespace trainwire {

namespace {

constexpr double slack = 1 + 1e-12;  // rounding

struct Crossing {
  std::size_t route;
  double share;  // of the link's capacity that a unit of rate takes
};

struct Crossings {
  std::vector<std::vector<Crossing>> by_link;  // ordered by route
  std::vector<const Route*> routes;
};

Crossings find_crossings(std::span<const double> capacity, const std::vector<Load>& loads) {
  Crossings crossings;
  crossings.by_link.resize(capacity.size());
  for (const Load& load : loads) {
    for (const Route* route : load.routes) {
      for (const Hop& hop : *route) {
        const auto l = static_cast<std::size_t>(hop.link);
        crossings.by_link[l].push_back({crossings.routes.size(), hop.weight / capacity[l]});
      }
      crossings.routes.push_back(route);
    }
  }
  return crossings;
}

// A link that the sum of the highest possible rates cannot fill. Each route's tightest link stays, so that the highest
// rates still hold without the others.
void drop_never_full(std::span<const double> capacity, const std::vector<Load>& loads, std::vector<bool>& binding) {
  std::vector<double> demand(capacity.size(), 0), most(capacity.size(), 0);
  std::vector<bool> tightest(capacity.size(), false);
  for (const Load& load : loads) {
    for (const Route* route : load.routes) {
      double rate = std::numeric_limits<double>::infinity();
      std::size_t narrowest = 0;
      for (const Hop& hop : *route) {
        const auto l = static_cast<std::size_t>(hop.link);
        if (!binding[l]) continue;  // another link of the route is as tight
        const double alone = capacity[l] / hop.weight;
        if (alone < rate) narrowest = l;
        rate = std::min(rate, alone);
      }
      if (!route->empty()) tightest[narrowest] = true;
      for (const Hop& hop : *route) {
        auto& link_most = most[static_cast<std::size_t>(hop.link)];
        link_most = std::max(link_most, hop.weight * rate);
      }
    }
    for (const Route* route : load.routes) {
      for (const Hop& hop : *route) {
        const auto l = static_cast<std::size_t>(hop.link);
        demand[l] += load.at_once * most[l];
        most[l] = 0;  // counted
      }
    }
  }
  for (std::size_t l = 0; l < capacity.size(); ++l)
    if (!tightest[l] && demand[l] <= capacity[l] * slack) binding[l] = false;
}

bool is_implied(const std::vector<Crossing>& weaker, const std::vector<Crossing>& stronger) {
  auto s = stronger.begin();
  for (const Crossing& w : weaker) {
    while (s != stronger.end() && s->route < w.route) ++s;
    if (s == stronger.end() || s->route != w.route || s->share * slack < w.share) return false;
  }
  return true;
}

// A link that another one always keeps from being full: every route over it takes a larger share of the other.
void drop_implied(const Crossings& crossings, std::vector<bool>& binding) {
  constexpr std::size_t most_candidates = 64;  // more would cost more than they save
  for (std::size_t l = 0; l < binding.size(); ++l) {
    const std::vector<Crossing>& own = crossings.by_link[l];
    if (!binding[l] || own.empty()) continue;
    const Route& route = *crossings.routes[own[0].route];
    const std::size_t candidates = std::min(route.size(), most_candidates);
    for (std::size_t i = 0; i < candidates && binding[l]; ++i) {
      const auto other = static_cast<std::size_t>(route[i].link);
      if (other != l && binding[other] && is_implied(own, crossings.by_link[other])) binding[l] = false;
    }
  }
}

}  // namespace

std::vector<bool> binding_links(std::span<const double> capacity, const std::vector<Load>& loads) {
  std::vector<bool> binding(capacity.size(), true);
  drop_implied(find_crossings(capacity, loads), binding);
  drop_never_full(capacity, loads, binding);
  return binding;
}

}  // namespace trainwire
