// In which order rings go through a group: node by node, and inside a node where the wires are best.
#pragma once
#include <span>
#include <vector>

#include "sim/topology/topology.h"

namespace trainwire {

// One ring. Edges go from each member to the next and from the last to the first.
struct Ring {
  std::vector<DeviceId> order;
  int nic = -1;  // the network port that edges between hosts leave through; -1: none
};

// Rings that share the data equally and run at the same time.
// Groups over several nodes: one ring a network port near their members (NCCL's channels), entering each node at a
// member near that port. Groups inside one node of unequal wires (a DGX-1V): as many as the NVLinks allow, both ways
// around. Otherwise one ring in the group's own order.
std::vector<Ring> rings(std::span<const DeviceId> devices, const Topology& topology);

}  // namespace trainwire
