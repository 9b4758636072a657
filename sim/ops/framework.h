// Which training framework's kernels run a plan: sim/cost/kernel_set.h says what that changes.
#pragma once
#include <cstdint>

namespace trainwire {

enum class Framework : std::uint8_t { none, megatron_2021, megatron_core, pytorch, deepspeed };

}  // namespace trainwire
