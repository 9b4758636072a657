// What a caching allocator holds beyond what is allocated: an assumption, kept apart from the plan's own bytes.
#pragma once

namespace trainwire {

// PyTorch's reserved over allocated peak, less 1. Assumed: the median of 131 ranks of SimuMax's B200 runs (MooreThreads,
// 2025; Megatron-LM, with and without experts); a tenth of them had more than 7 %, a tenth less than 2 %.
constexpr double allocator_slack = 0.04;

}  // namespace trainwire
