#include "sim/scenario/pieces.h"

#include "sim/scenario/scenario.h"

#include <tuple>

namespace trainwire {

PipelineShape pipeline_shape(const Strategy& s, std::int64_t micro_batches) {
  const auto& p = s.pipeline;
  const bool vee = p.schedule == PipelineSchedule::zero_bubble_v && p.degree > 1;
  const int chunks = p.degree == 1 ? 1 : vee ? 2 : p.interleave;
  return {p.degree, chunks, static_cast<int>(micro_batches), vee};
}

std::vector<std::int64_t> even_blocks(const PipelineShape& shape, std::int64_t blocks) {
  const auto stages = static_cast<std::size_t>(shape.stages);
  const auto pieces = static_cast<std::size_t>(shape.pieces());
  const auto stage_of = [&](std::size_t piece) {
    return static_cast<std::size_t>(shape.stage_of(static_cast<int>(piece)));
  };
  const std::int64_t least = blocks / static_cast<std::int64_t>(pieces);
  std::vector<std::int64_t> of_piece(pieces, least), of_stage(stages, 0);
  ++of_stage[stage_of(0)];
  ++of_stage[stage_of(pieces - 1)];
  for (std::int64_t left = blocks - least * static_cast<std::int64_t>(pieces); left > 0; --left) {
    std::size_t chosen = pieces;
    const auto before = [&](std::size_t a, std::size_t b) {  // the emptier stage; on it, the ends of the model last
      const bool a_ends = a == 0 || a + 1 == pieces, b_ends = b == 0 || b + 1 == pieces;
      return std::tuple(of_stage[stage_of(a)], a_ends, a) < std::tuple(of_stage[stage_of(b)], b_ends, b);
    };
    for (std::size_t c = 0; c < pieces; ++c)
      if (of_piece[c] == least && (chosen == pieces || before(c, chosen))) chosen = c;
    ++of_piece[chosen];
    ++of_stage[stage_of(chosen)];
  }
  return of_piece;
}

}  // namespace trainwire
