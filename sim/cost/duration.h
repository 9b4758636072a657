// The two device models behind duration(), for cost.cpp alone.
#pragma once
#include "sim/cost/cost.h"

namespace trainwire {

Seconds gpu_duration(const Program&, const Op&, const DeviceSpec&, Framework);  // gpu.cpp: roofline, tiles and waves
Seconds cpu_duration(const Program&, const Op&, const DeviceSpec&);  // cpu.cpp: what calibrate measured

}  // namespace trainwire
