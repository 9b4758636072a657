#include "sim/engine/contention.h"

#include <algorithm>

namespace trainwire {

bool shares_host(const DeviceSpec& spec) { return spec.kind == DeviceSpec::Kind::cpu; }

bool contended(const DeviceSpec& spec) {
  return spec.communication_slowdown.value > 0 || (shares_host(spec) && spec.cpu.cores > 0);
}

double compute_speed(const DeviceSpec& spec, double computing, double communicating) {
  const double taken = spec.communication_slowdown.value;
  if (!shares_host(spec)) return communicating > 0 ? 1 - taken : 1;
  // A computing rank uses at most one core, a communication `taken` of one; with too few cores all get less alike.
  const double wanted = computing + taken * communicating;
  const double share = spec.cpu.cores > 0 ? std::min(1.0, spec.cpu.cores / wanted) : 1;
  return share / (computing > 1 ? spec.cpu.core_sharing : 1);
}

}  // namespace trainwire
