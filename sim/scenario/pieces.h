// How the blocks of a model are shared out among the pieces of a pipeline.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/scenario/turns.h"

namespace trainwire {

// Blocks of each piece, along the model. What does not divide goes to the stages with the least: the embedding counts
// as a block of the first stage, the head and the loss as one of the last. 126 blocks on 16 stages: 7, 14 x 8, 7, as
// Llama-3 405B was trained (Grattafiori et al. 2024, section 3.3.2).
std::vector<std::int64_t> even_blocks(const PipelineShape&, std::int64_t blocks);

}  // namespace trainwire
