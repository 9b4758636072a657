#include "sim/scenario/pieces.h"

#include <tuple>

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
    const auto before = [&](std::size_t a, std::size_t b) {  // the emptier stage; on it, the ends of the model last
      const bool a_ends = a == 0 || a + 1 == pieces, b_ends = b == 0 || b + 1 == pieces;
      return std::tuple(of_stage[a % stages], a_ends, a) < std::tuple(of_stage[b % stages], b_ends, b);
    };
    for (std::size_t c = 0; c < pieces; ++c)
      if (of_piece[c] == least && (chosen == pieces || before(c, chosen))) chosen = c;
    ++of_piece[chosen];
    ++of_stage[chosen % stages];
  }
  return of_piece;
}

}  // namespace trainwire
