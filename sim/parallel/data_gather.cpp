// ZeRO's third stage and FSDP (Zhao et al. 2023, "PyTorch FSDP"): a rank keeps a shard of every unit's parameters. A
// unit is all-gathered before it is used, at most `prefetch` units ahead of the one in use, and dropped after its last
// use; backward gathers again what forward dropped. Where stages follow one another and parameters are not dropped,
// they are gathered once a step: several micro-batches are on their way at once.
#include <algorithm>

#include "sim/parallel/data.h"

namespace trainwire {
namespace {

struct Unit {
  const SharedBucket* bucket = nullptr;
  TensorId parameters = -1;  // the gathered ones
  int first = -1;            // operation of the list that uses it
};

enum class Keep : std::uint8_t { pass, micro_batch, step };  // how long gathered parameters stay

// The parameters of the bucket as views of a flat tensor that an all-gather fills.
TensorId add_gathered(Draft& d, const SharedBucket& b, Keep keep, std::map<TensorId, TensorId>& stand_in) {
  const TensorId flat =
      add_like(d, b.parameters, tensor(d, b.parameters).name, tensor(d, b.parameters).dtype, Category::parameter);
  tensor(d, flat).gathered = true;
  tensor(d, flat).each_micro_batch = keep != Keep::step;
  for (const FlatPiece& piece : std::vector<FlatPiece>(d.flats[static_cast<std::size_t>(b.layout)])) {
    const TensorId part = add_like(d, piece.parameter, tensor(d, piece.parameter).name,
                                   tensor(d, piece.parameter).dtype, Category::parameter);
    Tensor& t = tensor(d, part);
    t.view_of = flat;
    t.offset = piece.offset;
    t.gathered = true;
    t.each_micro_batch = tensor(d, flat).each_micro_batch;
    stand_in[piece.parameter] = part;
  }
  return flat;
}

// A unit is used by what reads its parameters and by what writes their gradients: frameworks gather for both.
bool uses(const Draft& d, const DraftOp& op, const Unit& unit, const std::map<TensorId, TensorId>& stand_in) {
  for (const TensorId t : op.inputs)
    if (const auto p = stand_in.find(t); p != stand_in.end() && tensor(d, p->second).view_of == unit.parameters)
      return true;
  const auto& gradients = unit.bucket->bucket.gradients;
  return std::any_of(op.outputs.begin(), op.outputs.end(),
                     [&](TensorId t) { return std::find(gradients.begin(), gradients.end(), t) != gradients.end(); });
}

void find_first_uses(const Draft& d, const std::vector<DraftOp>& list, int stage, std::vector<Unit>& units,
                     const std::map<TensorId, TensorId>& stand_in) {
  for (Unit& unit : units)
    for (std::size_t i = 0; i < list.size() && unit.first < 0; ++i)
      if (list[i].stage == stage && uses(d, list[i], unit, stand_in)) unit.first = static_cast<int>(i);
  std::erase_if(units, [](const Unit& unit) { return unit.first < 0; });
  std::stable_sort(units.begin(), units.end(), [](const Unit& a, const Unit& b) { return a.first < b.first; });
}

void replace(std::vector<DraftOp>& list, int stage, const std::map<TensorId, TensorId>& stand_in) {
  for (DraftOp& op : list)
    if (op.stage == stage)
      for (TensorId& t : op.inputs)
        if (const auto p = stand_in.find(t); p != stand_in.end()) t = p->second;
}

DraftOp gather_of(const Unit& unit, Role role, int ahead, int chunk) {
  DraftOp op;
  op.kind = OpKind::all_gather;
  op.role = role;
  op.stream = Stream::data;
  op.axis = Axis::data;
  op.stage = unit.bucket->stage;
  op.layer = unit.bucket->bucket.layer;
  op.ahead = ahead;
  op.chunk = chunk;
  op.inputs = {unit.bucket->parameter_shard};
  op.outputs = {unit.parameters};
  return op;
}

// All units that the list uses, gathered in the order of use.
void gather_in(Draft& d, std::vector<DraftOp>& list, Role role, const std::vector<SharedBucket>& buckets, int prefetch,
               Keep keep, std::map<TensorId, TensorId>& stand_in) {
  const int stage = buckets[0].stage;
  std::vector<Unit> units;
  for (const SharedBucket& b : buckets) units.push_back({&b, add_gathered(d, b, keep, stand_in), -1});
  find_first_uses(d, list, stage, units, stand_in);
  std::vector<Insertion> insertions;
  for (std::size_t u = 0; u < units.size(); ++u) {
    const int chunk = list[static_cast<std::size_t>(units[u].first)].chunk;
    if (keep == Keep::step) {
      d.start.push_back(gather_of(units[u], role, -1, chunk));
      continue;
    }
    const std::size_t early = u < static_cast<std::size_t>(prefetch) ? 0 : u - static_cast<std::size_t>(prefetch);
    insertions.push_back({units[early].first, gather_of(units[u], role, prefetch, chunk)});
  }
  replace(list, stage, stand_in);
  insert(d, list, std::move(insertions));
}

}  // namespace

void gather_parameters(Draft& d, const Scenario& s, const std::vector<SharedBucket>& buckets) {
  if (buckets.empty()) return;
  const bool reshard = reshards_after_forward(s), staged = s.mesh.degree(Axis::pipeline) > 1;
  const int prefetch = s.strategy.data.overlap ? s.strategy.data.prefetch : 0;
  const Keep keep = reshard ? Keep::pass : staged ? Keep::step : Keep::micro_batch;
  std::map<TensorId, TensorId> stand_in;
  gather_in(d, d.forward, Role::forward, buckets, prefetch, keep, stand_in);
  if (reshard) {
    gather_in(d, d.backward, Role::backward, buckets, prefetch, keep, stand_in);
  } else {
    replace(d.backward, buckets[0].stage, stand_in);
  }
}

}  // namespace trainwire
