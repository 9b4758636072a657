// What `calibrate` measured about a CPU: the `cpu:` mapping of a device in a machine file, read and written.
#pragma once
#include <string>

#include "sim/config/value.h"
#include "sim/topology/device.h"

namespace trainwire {

CpuMeasurements read_cpu_measurements(const Value& value, Problems& problems);
// YAML text of that mapping without its key, every line indented by `indent` blanks. `measured`: date, host, spread.
std::string write_cpu_measurements(const CpuMeasurements& cpu, const std::string& measured, int indent);

}  // namespace trainwire
