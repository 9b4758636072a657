#include "sim/collective/protocol.h"

#include <algorithm>

namespace trainwire {

const std::vector<Protocol>& protocols() {
  static const char* const source =
      "fitted to NCCL all-reduce, all-gather and reduce-scatter on 2, 4 and 8 A100, H100 and H200 of one host, 512 B "
      "to "
      "512 MiB; NVIDIA aiconfigurator, commit 095f58a (Apache-2.0). Kinds and order: NCCL, src/graph/tuning.cc";
  static const std::vector<Protocol> table{
      {"LL", Seconds(5e-6), 0.28, 0.35, source},
      {"LL128", Seconds(14e-6), 0.15, 0.80, source},
      {"Simple", Seconds(15e-6), 1.0, 1.0, source},
  };
  return table;
}

double start_scale(std::span<const DeviceId> devices, const Topology& topology) {
  // From an H100's hop of 3 us to an A100's of 4.5 us the start grew with the hop; beyond there is nothing to fit to.
  const double hop = topology.latency(topology.route(devices[0], devices[1])).value;
  return std::clamp(hop / 3e-6, 1.0, 1.5);
}

void use_best_protocol(Flow& flow, std::span<const DeviceId> devices, const Topology& topology) {
  if (devices.size() < 2 || topology.spec(devices[0]).kind != DeviceSpec::Kind::gpu) return;
  const Flow plain = flow;
  const double scale = start_scale(devices, topology);
  double least = -1;
  for (const Protocol& protocol : protocols()) {
    Flow priced = plain;
    priced.latency = protocol.base * scale + plain.latency * protocol.hop;
    priced.bytes = plain.bytes / protocol.wire;
    priced.protocol = protocol.name;
    const double seconds = alone(priced, topology).value;
    if (least >= 0 && seconds >= least) continue;
    least = seconds;
    flow = priced;
  }
}

}  // namespace trainwire
