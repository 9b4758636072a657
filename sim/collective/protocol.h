// NCCL's protocols: how a message is handed over between GPUs. LL and LL128 carry flags beside the data and save
// synchronisation; Simple has the wire for itself and pays for fences.
#pragma once
#include "sim/collective/collective.h"

namespace trainwire {

struct Protocol {
  const char* name;
  Seconds base;  // before the first hop, where a hop takes 3 us (start_scale)
  double hop;    // latency of a hop, of what it is with Simple (the links' latencies)
  double wire;   // share of the wire that carries data
  const char* source;
};
const std::vector<Protocol>& protocols();

// Slower wires start more slowly: what multiplies Protocol::base, from 1 to 1.5.
double start_scale(std::span<const DeviceId> devices, const Topology& topology);

// Prices the flow with the protocol that is fastest when alone, as NCCL decides; links are as before. CPUs have none.
void use_best_protocol(Flow& flow, std::span<const DeviceId> devices, const Topology& topology);

}  // namespace trainwire
