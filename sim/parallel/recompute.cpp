// Activation recomputation (Chen et al. 2016; Korthikanti et al. 2022, "Reducing activation recomputation", §5): what a
// segment makes is not kept from its forward to its backward pass but made again right before it, collectives included.
// full: a segment is a block, or several in a row, whose input alone is kept (2·S·B·H bytes of 16 bits); one forward
// pass of the blocks more. selective: a segment is the attention core; one forward pass of that more.
#include <map>

#include "sim/parallel/draft.h"

namespace trainwire {
namespace {

struct Segment {
  int first = 0, last = 0;              // layers
  std::vector<std::size_t> operations;  // into Draft::forward
};

// Blocks come first to last in a piece of the model: of those, the first of every so many, up to a number.
std::vector<bool> chosen_layers(const Draft& d, const Training& t) {
  std::vector<bool> chosen(d.layers.size(), false);
  std::map<int, std::int64_t> seen;  // blocks of a piece so far
  for (std::size_t layer = 1; layer + 1 < d.layers.size(); ++layer) {
    const std::int64_t place = seen[d.piece_of_layer[layer]]++;
    chosen[layer] = place % t.recompute_every == 0 && (t.recompute_blocks == 0 || place < t.recompute_blocks);
  }
  return chosen;
}

// Whether the block goes with the segment that ends with the block before it.
bool joins(const Draft& d, const std::vector<bool>& chosen, int layer, int blocks, int most) {
  const auto at = static_cast<std::size_t>(layer);
  return blocks < most && chosen[at - 1] && d.piece_of_layer[at - 1] == d.piece_of_layer[at];
}

std::vector<Segment> segments_of(const Draft& d, const Training& t) {
  const std::vector<bool> chosen = chosen_layers(d, t);
  std::vector<Segment> segments;
  for (std::size_t i = 0; i < d.forward.size(); ++i) {
    const DraftOp& op = d.forward[i];
    if (!chosen[static_cast<std::size_t>(op.layer)] || is_point_to_point(op.kind)) continue;
    if (t.recompute == Recompute::selective && op.kind != OpKind::attention) continue;
    Segment* last = segments.empty() || t.recompute == Recompute::selective ? nullptr : &segments.back();
    const bool next = last != nullptr && op.layer == last->last + 1 &&
                      joins(d, chosen, op.layer, last->last - last->first + 1, t.recompute_segment);
    if (last == nullptr || (op.layer != last->last && !next)) {
      segments.push_back({op.layer, op.layer, {}});
      last = &segments.back();
    }
    last->last = op.layer;
    last->operations.push_back(i);
  }
  return segments;
}

// The operations whose operands are made again: those of the blocks' backward pass, or the core's own derivative.
bool derives(const DraftOp& op, const Segment& segment, Recompute how) {
  return op.layer >= segment.first && op.layer <= segment.last && !is_point_to_point(op.kind) &&
         (how == Recompute::full || (op.kind == OpKind::attention && op.role != Role::forward));
}

using Again = std::map<TensorId, TensorId>;  // what a segment makes -> the same, made again

std::vector<DraftOp> run_again(Draft& d, const Segment& segment, Again& again) {
  std::vector<DraftOp> copies;
  for (const std::size_t i : segment.operations) {
    DraftOp op = d.forward[i];
    for (TensorId& t : op.inputs)
      if (const auto made = again.find(t); made != again.end()) t = made->second;
    for (TensorId& t : op.outputs) {
      const auto [made, fresh] = again.try_emplace(t, -1);
      if (fresh) {
        const Tensor& original = tensor(d, t);
        made->second = add_like(d, t, original.name + " again", original.dtype, original.category);
      }
      t = made->second;
    }
    copies.push_back(std::move(op));
  }
  return copies;
}

// As in frameworks, a segment starts when the gradient that its backward pass begins with is there.
std::vector<TensorId> begins_with(const Draft& d, const DraftOp& first, const Again& again) {
  std::vector<TensorId> gradients;
  for (const TensorId t : first.inputs)
    if (tensor(d, t).category == Category::activation && !again.contains(t)) gradients.push_back(t);
  return gradients;
}

}  // namespace

void recompute(Draft& d, const Scenario& s) {
  const Recompute how = s.training.recompute;
  if (how == Recompute::none) return;
  std::map<std::size_t, std::vector<DraftOp>> before;  // by backward operation
  for (const Segment& segment : segments_of(d, s.training)) {
    std::size_t first = 0;
    while (first < d.backward.size() && !derives(d.backward[first], segment, how)) ++first;
    if (first == d.backward.size()) continue;
    Again again;
    std::vector<DraftOp> copies = run_again(d, segment, again);
    copies[0].waits = begins_with(d, d.backward[first], again);
    for (std::size_t i = first; i < d.backward.size(); ++i)
      if (derives(d.backward[i], segment, how))
        for (TensorId& t : d.backward[i].inputs)
          if (const auto made = again.find(t); made != again.end()) t = made->second;
    before[first] = std::move(copies);
  }
  std::vector<DraftOp> result;
  for (std::size_t i = 0; i < d.backward.size(); ++i) {
    if (const auto found = before.find(i); found != before.end())
      result.insert(result.end(), found->second.begin(), found->second.end());
    result.push_back(std::move(d.backward[i]));
  }
  d.backward = std::move(result);
}

}  // namespace trainwire
