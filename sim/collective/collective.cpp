// The table of algorithms and the choice among them.
#include "sim/collective/collective.h"

#include "sim/collective/flows.h"
#include "sim/collective/steps.h"

namespace trainwire {
namespace {

bool ring_applies(OpKind kind) {
  return kind == OpKind::all_reduce || kind == OpKind::all_gather || kind == OpKind::reduce_scatter;
}
bool direct_applies(OpKind kind) {
  return kind == OpKind::all_to_all || kind == OpKind::broadcast || kind == OpKind::permute || is_point_to_point(kind);
}
bool halving_doubling_applies(OpKind kind) { return kind == OpKind::all_reduce; }

}  // namespace

const std::vector<CollectiveAlgorithm>& algorithms() {
  static const std::vector<CollectiveAlgorithm> table{
      {"ring", ring_applies, ring_steps, ring_flow},
      {"direct", direct_applies, direct_steps, direct_flow},
      {"halving-doubling", halving_doubling_applies, halving_doubling_steps, halving_doubling_flow},
  };
  return table;
}

const CollectiveAlgorithm& choose_algorithm(OpKind kind, std::span<const DeviceId>, double, const Topology&) {
  return algorithms()[ring_applies(kind) ? 0 : 1];
}

double bus_factor(OpKind kind, int members) {
  if (members < 2) return 1.0;
  const double share = (members - 1.0) / members;
  switch (kind) {
    case OpKind::all_reduce:
      return 2 * share;
    case OpKind::all_gather:
    case OpKind::reduce_scatter:
    case OpKind::all_to_all:
      return share;
    default:
      return 1.0;
  }
}

}  // namespace trainwire
