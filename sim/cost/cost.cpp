// duration(): the model that fits the device.
#include "sim/cost/cost.h"

#include <fmt/format.h>

#include <stdexcept>

#include "sim/cost/duration.h"

namespace trainwire {

Seconds duration(const Program& program, const Op& op, const DeviceSpec& device, Framework framework) {
  if (is_communication(op.kind))
    throw std::logic_error(fmt::format("{}: communication has no duration on a device", op_name(program, op)));
  return device.kind == DeviceSpec::Kind::cpu ? cpu_duration(program, op, device) : gpu_duration(program, op, device, framework);
}

}  // namespace trainwire
