// Flows of the algorithms: one fluid transfer that loads every link as the step list does in sum.
#pragma once
#include "sim/collective/collective.h"

namespace trainwire {

Flow ring_flow(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology& topology);
Flow direct_flow(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology& topology);
Flow halving_doubling_flow(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology& topology);
Flow tree_flow(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology& topology);
Flow nvls_flow(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology& topology);
Flow hierarchical_flow(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology& topology);
bool nvls_fits(std::span<const DeviceId> devices, const Topology& topology);
bool hierarchical_fits(std::span<const DeviceId> devices, const Topology& topology);

// How often each link occurs, by number of the link.
std::vector<WeightedLink> count_links(std::vector<LinkId>& crossings);

}  // namespace trainwire
