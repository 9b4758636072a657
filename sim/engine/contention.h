// What slows down computing: on a GPU its own communication, on a CPU the other ranks of the host.
#pragma once
#include "sim/topology/device.h"

namespace trainwire {

// Where ranks get in each other's way: each GPU for itself; all CPU devices of a host together.
bool shares_host(const DeviceSpec&);

// Whether computing on such a device can ever be slower than alone.
bool contended(const DeviceSpec&);

// Speed of one computing rank, 1: as alone, while `computing` ranks of its domain compute (itself included) and
// `communicating` communications of its ranks are under way.
double compute_speed(const DeviceSpec&, double computing, double communicating);

}  // namespace trainwire
