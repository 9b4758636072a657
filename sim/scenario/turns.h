// A pipeline schedule spelled out: what a stage computes, one turn after the other. As text: "F0 F1 B0 F2 B1 …".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainwire {

enum class TurnKind : std::uint8_t {
  forward,          // F
  backward,         // B: the whole backward pass
  input_gradient,   // B where the stage has a W of the same micro-batch and chunk: what the stage before waits for
  weight_gradient,  // W: what nobody waits for
};

struct Turn {
  TurnKind kind = TurnKind::forward;
  std::int32_t micro_batch = 0;
  std::int32_t chunk = 0;  // of the stage's own chunks, the first in the model being 0
  bool operator==(const Turn&) const = default;
};
using Turns = std::vector<Turn>;  // of one stage

// The model is cut into stages x chunks pieces; piece c lies on stage c % stages.
struct PipelineShape {
  int stages = 1;
  int chunks = 1;  // a stage
  int micro_batches = 1;
};

std::string to_text(const Turn&);  // "F3", with more than one chunk "F3.1" for chunk 1
// Words like F3, B3, W3 or F3.1, apart by spaces. `problem` says what is wrong with the first one that cannot be read.
Turns read_turns(std::string_view text, std::string& problem);

// Every micro-batch forward and backward once on every stage, in an order that exists. "" where it holds.
std::string check_complete(const std::vector<Turns>& by_stage, const PipelineShape&);
// Runs the turns with transfers in the order of the turns on both sides; where they get stuck, who waits for whom.
std::string check_progress(const std::vector<Turns>& by_stage, const PipelineShape&);

}  // namespace trainwire
