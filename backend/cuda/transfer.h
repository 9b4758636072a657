// One communication operation of a plan as a collective of a device.
#pragma once
#include <span>

#include "backend/cuda/device.h"
#include "sim/plan/plan.h"

namespace trainwire::cuda {

// Without its communicator. Throws std::logic_error where the operands do not lie one after the other or do not divide.
Collective collective_of(const Program& program, const Op& op, std::span<void* const> inputs,
                         std::span<void* const> outputs, std::int64_t members, std::int64_t member);

}  // namespace trainwire::cuda
