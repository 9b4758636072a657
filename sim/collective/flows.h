// Flows of the algorithms: one fluid transfer that loads every link as the step list does in sum.
#pragma once
#include "sim/collective/collective.h"

namespace trainwire {

Flow ring_flow(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology& topology);
Flow direct_flow(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology& topology);
Flow halving_doubling_flow(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology& topology);

}  // namespace trainwire
