#include "sim/scenario/pieces.h"

#include <utility>

namespace trainwire {

std::vector<std::int64_t> even_blocks(const PipelineShape& shape, std::int64_t blocks) {
  const auto stages = static_cast<std::size_t>(shape.stages);
  const std::size_t pieces = stages * static_cast<std::size_t>(shape.chunks);
  const std::int64_t least = blocks / static_cast<std::int64_t>(pieces);
  std::vector<std::int64_t> of_piece(pieces, least), of_stage(stages, 0);
  ++of_stage.front();
  ++of_stage.back();
  for (std::int64_t left = blocks - least * static_cast<std::int64_t>(pieces); left > 0; --left) {
    std::size_t chosen = pieces;
    for (std::size_t c = 0; c < pieces; ++c)
      if (of_piece[c] == least && (chosen == pieces || of_stage[c % stages] < of_stage[chosen % stages])) chosen = c;
    ++of_piece[chosen];
    ++of_stage[chosen % stages];
  }
  return of_piece;
}

}  // namespace trainwire
