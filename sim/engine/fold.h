// Which ranks, groups, links and contention domains nothing tells apart: one of each class is enough to simulate.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/engine/groups.h"

namespace trainwire {

// Things of one sort in classes; a class' representative is its first member.
struct Classes {
  std::vector<std::int32_t> of;     // thing -> class
  std::vector<std::int32_t> first;  // class -> its first member
  std::vector<std::int32_t> size;   // class -> how many are alike
  std::size_t count() const { return first.size(); }
  bool is_first(std::size_t thing) const {
    return first[static_cast<std::size_t>(of[thing])] == static_cast<std::int32_t>(thing);
  }
};

// Ranks that contend for computing: a GPU's own, or those of a host's CPUs.
struct Domains {
  std::vector<std::int32_t> of;    // rank -> domain
  std::vector<std::int32_t> spec;  // domain -> into Topology::specs
};
Domains find_domains(const World&);

struct Fold {
  Classes ranks, groups, links, domains;
};

// The coarsest equitable partition (README.md says why that is exact); with `fold` false everything is its own class.
Fold find_classes(const World&, const std::vector<CompiledProgram>&, const Groups&, const Domains&, bool fold);

}  // namespace trainwire
