// Pipeline parallelism: consecutive layers form a stage (interleaved: several pieces of the model do, dealt round);
// what the next stage reads is sent to it, and its gradient comes back. Bytes on the axis a boundary and micro-batch:
// B·S·H forward and as much backward. A parameter that two stages use (tied embeddings) is kept on both; their
// gradients are exchanged and added once.
#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>

#include "sim/parallel/draft.h"
#include "sim/parallel/schedules/schedules.h"
#include "sim/scenario/pieces.h"

namespace trainwire {
namespace {

// The first layer goes with the first piece, the last with the last; the blocks as the scenario says, or evenly.
std::vector<int> pieces_of_layers(const Draft& d, std::vector<std::int64_t> blocks_of, const PipelineShape& shape) {
  if (blocks_of.empty()) blocks_of = even_blocks(shape, static_cast<std::int64_t>(d.layers.size()) - 2);
  std::vector<int> piece{0};
  for (std::size_t c = 0; c < blocks_of.size(); ++c)
    piece.insert(piece.end(), static_cast<std::size_t>(blocks_of[c]), static_cast<int>(c));
  piece.push_back(shape.pieces() - 1);
  return piece;
}

// Where an operation runs: a stage and one of its chunks.
struct Place {
  int stage = 0, chunk = 0;
};

DraftOp transfer(OpKind kind, const DraftOp& reader, TensorId t, Place place, int other_stage, int message) {
  DraftOp op;
  op.kind = kind;
  op.role = reader.role;
  op.stream = kind == OpKind::send ? Stream::pipeline_send : Stream::pipeline_receive;
  op.axis = Axis::pipeline;
  op.layer = reader.layer;
  op.stage = place.stage;
  op.chunk = place.chunk;
  op.peer = other_stage - place.stage;
  op.message = message;
  (kind == OpKind::send ? op.inputs : op.outputs) = {t};
  return op;
}

bool travels(const Tensor& t) { return t.category == Category::activation; }

// Puts a send and a receive before the first operation of a stage that reads what another stage produced.
std::vector<DraftOp> connect(Draft& d, const std::vector<DraftOp>& ops, const PipelineShape& shape,
                             std::map<TensorId, std::set<int>>& held) {
  std::vector<DraftOp> result;
  std::map<TensorId, Place> home;
  const auto piece = [&shape](const Place& p) { return shape.piece_of(p.stage, p.chunk); };
  for (const DraftOp& op : ops) {
    for (const TensorId t : op.inputs) {
      if (!travels(tensor(d, t)) || held[t].count(op.stage) != 0) continue;
      const auto from = home.find(t);
      const Place here{op.stage, op.chunk};
      if (from == home.end() || std::abs(piece(from->second) - piece(here)) != 1)
        throw std::logic_error(fmt::format("stage {} reads {}, which no neighbour makes", op.stage, tensor(d, t).name));
      result.push_back(transfer(OpKind::send, op, t, from->second, here.stage, d.messages));
      result.push_back(transfer(OpKind::recv, op, t, here, from->second.stage, d.messages++));
      held[t].insert(op.stage);
    }
    for (const TensorId t : op.outputs) {
      held[t].insert(op.stage);
      home[t] = {op.stage, op.chunk};
    }
    result.push_back(op);
  }
  return result;
}

// The gradient tensors of a parameter, by the stage that writes them.
std::map<TensorId, std::set<int>> writers_of_gradients(const Draft& d) {
  std::map<TensorId, std::set<int>> stages;
  for (const DraftOp& op : d.backward)
    for (const TensorId t : op.outputs)
      if (tensor(d, t).category == Category::gradient) stages[t].insert(op.stage);
  return stages;
}

// The later stage writes a gradient tensor of its own: each stage may lay its gradients out differently.
TensorId separate_gradient(Draft& d, TensorId gradient, int stage) {
  const std::string name = tensor(d, gradient).name;
  const TensorId own = add_like(d, gradient, name, tensor(d, gradient).dtype, Category::gradient);
  for (DraftOp& op : d.backward)
    if (op.stage == stage)
      for (TensorId& t : op.outputs)
        if (t == gradient) t = own;
  return own;
}

void exchange_tied_gradient(Draft& d, TensorId gradient, int here, int there) {
  const TensorId other = add_like(d, gradient, tensor(d, gradient).name + " of the other stage",
                                  tensor(d, gradient).dtype, Category::workspace);
  DraftOp base;
  base.role = Role::backward;
  base.layer = tensor(d, gradient).layer;
  const int outgoing = here < there ? d.messages : d.messages + 1;
  const int incoming = here < there ? d.messages + 1 : d.messages;
  DraftOp sum = base;
  sum.kind = OpKind::add;
  sum.role = Role::sum_gradients;
  sum.stage = here;
  sum.inputs = {gradient, other};
  sum.outputs = {gradient};
  d.step.push_back({transfer(OpKind::send, base, gradient, {here, 0}, there, outgoing), -1});
  d.step.push_back({transfer(OpKind::recv, base, other, {here, 0}, there, incoming), -1});
  d.step.push_back({sum, -1});
}

}  // namespace

void pipeline_cut(Draft& d, const Scenario& s) {
  const PipelineShape shape = s.pipeline_shape();
  if (shape.stages == 1) return;
  d.piece_of_layer = pieces_of_layers(d, s.strategy.pipeline.layers, shape);
  for (auto* list : {&d.forward, &d.backward})
    for (DraftOp& op : *list) {
      const int piece = d.piece_of_layer[static_cast<std::size_t>(op.layer)];
      op.stage = shape.stage_of(piece);
      op.chunk = shape.chunk_of(piece);
    }
  std::map<TensorId, std::set<int>> held;
  d.forward = connect(d, d.forward, shape, held);
  d.backward = connect(d, d.backward, shape, held);
  for (const auto& [gradient, users] : writers_of_gradients(d)) {
    if (users.size() < 2) continue;
    if (users.size() > 2) throw std::logic_error(tensor(d, gradient).name + " is written on more than two stages");
    const int first = *users.begin(), last = *users.rbegin();
    exchange_tied_gradient(d, gradient, first, last);
    exchange_tied_gradient(d, separate_gradient(d, gradient, last), last, first);
    d.messages += 2;
  }
}

void pipeline_schedule(Draft& d, const Scenario& s) {
  const PipelineShape shape = s.pipeline_shape();
  if (s.strategy.pipeline.schedule == PipelineSchedule::as_given) {
    d.turns = s.strategy.pipeline.turns;
  } else {
    const ScheduleRule* rule = find_schedule(s.strategy.pipeline.schedule);
    if (rule == nullptr) throw std::logic_error("a pipeline schedule without a row in the table");
    for (int stage = 0; stage < shape.stages; ++stage) d.turns.push_back(rule->turns(shape, stage));
  }
  d.receives = receive_order(d.turns, shape);
}

}  // namespace trainwire
