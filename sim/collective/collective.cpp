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
bool all_reduce_only(OpKind kind) { return kind == OpKind::all_reduce; }

}  // namespace

const std::vector<CollectiveAlgorithm>& algorithms() {
  static const std::vector<CollectiveAlgorithm> table{
      {"ring", ring_applies, ring_steps, ring_flow},
      {"direct", direct_applies, direct_steps, direct_flow},
      {"halving-doubling", all_reduce_only, halving_doubling_steps, halving_doubling_flow},
      {"tree", all_reduce_only, tree_steps, tree_flow},
      {"nvls", all_reduce_only, nvls_steps, nvls_flow, nvls_fits},
      {"hierarchical", all_reduce_only, hierarchical_steps, hierarchical_flow, hierarchical_fits},
  };
  return table;
}

namespace {

const CollectiveAlgorithm& named(const std::string& name) {
  for (const CollectiveAlgorithm& row : algorithms())
    if (name == row.name) return row;
  return algorithms()[0];
}

bool several_nodes(std::span<const DeviceId> devices, const Topology& topology) {
  const auto node = [&](DeviceId d) { return topology.devices[static_cast<std::size_t>(d)].node; };
  for (const DeviceId d : devices)
    if (node(d) != node(devices[0])) return true;
  return false;
}

// Where the members lie: node by node relative to the first, and in their host.
std::uint64_t shape_of(std::span<const DeviceId> devices, const Topology& topology) {
  std::uint64_t hash = devices.size();
  const int first = devices.empty() ? 0 : topology.devices[static_cast<std::size_t>(devices[0])].node;
  for (const DeviceId d : devices) {
    const Device& device = topology.devices[static_cast<std::size_t>(d)];
    hash =
        (hash ^ static_cast<std::uint64_t>((device.node - first) * 4096 + device.local)) * 0x100000001b3ULL;  // FNV-1a
  }
  return hash;
}

}  // namespace

const CollectiveAlgorithm& choose_algorithm(OpKind kind, std::span<const DeviceId> devices, double bytes,
                                            const Topology& topology, const std::string& wanted) {
  const bool wired = !topology.devices.empty();  // tests of step lists have no topology
  if (!wanted.empty()) {
    const CollectiveAlgorithm& row = named(wanted);
    if (row.applies(kind) && (row.fits == nullptr || !wired || row.fits(devices, topology))) return row;
  }
  const CollectiveAlgorithm& usual = algorithms()[ring_applies(kind) ? 0 : 1];
  if (!wired || kind != OpKind::all_reduce || devices.size() < 3 ||
      topology.spec(devices[0]).kind != DeviceSpec::Kind::gpu)
    return usual;
  const char* other = nvls_fits(devices, topology) ? "nvls" : several_nodes(devices, topology) ? "tree" : nullptr;
  if (other == nullptr) return usual;
  const CollectiveAlgorithm& row = named(other);
  const auto seconds = [&](const CollectiveAlgorithm& a) {
    return alone(a.flow(kind, devices, bytes, topology), topology).value;
  };
  return seconds(row) < seconds(usual) ? row : usual;
}

const CollectiveAlgorithm& AlgorithmChoice::operator()(OpKind kind, std::span<const DeviceId> devices, double bytes,
                                                       const Topology& topology, const std::string& wanted) {
  if (kind != OpKind::all_reduce) return choose_algorithm(kind, devices, bytes, topology, wanted);
  const auto [found, is_new] = known_.try_emplace({kind, bytes, shape_of(devices, topology), wanted}, nullptr);
  if (is_new) found->second = &choose_algorithm(kind, devices, bytes, topology, wanted);
  return *found->second;
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
