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

// The model is cut into stages x chunks pieces along its layers. They are dealt round: piece c lies on stage c %
// stages; or, in a V of two chunks, on stages 0 … p-1 and back.
struct PipelineShape {
  int stages = 1;
  int chunks = 1;  // a stage
  int micro_batches = 1;
  bool vee = false;

  int pieces() const { return stages * chunks; }
  int chunk_of(int piece) const { return piece / stages; }
  int stage_of(int piece) const { return vee && piece >= stages ? pieces() - 1 - piece : piece % stages; }
  int piece_of(int stage, int chunk) const { return chunk * stages + (vee && chunk == 1 ? stages - 1 - stage : stage); }
};

std::string to_text(const Turn&);  // "F3", with more than one chunk "F3.1" for chunk 1
// Words like F3, B3, W3 or F3.1, apart by spaces. `problem` says what is wrong with the first one that cannot be read.
Turns read_turns(std::string_view text, std::string& problem);

// Every micro-batch forward and backward once on every stage, in an order that exists. "" where it holds.
std::string check_complete(const std::vector<Turns>& by_stage, const PipelineShape&);
// Runs the turns; where they get stuck, who waits for whom. "" where they finish.
std::string check_progress(const std::vector<Turns>& by_stage, const PipelineShape&);

// Which turns of a stage receive something, in the order in which it receives. Sends go out in the order of the turns
// that make them; receives too, but for those that would block a send which others wait for: they come earlier.
std::vector<std::vector<std::size_t>> receive_order(const std::vector<Turns>& by_stage, const PipelineShape&);

}  // namespace trainwire
