// Spells a finished draft out: one program a pipeline stage, its micro-batches in the order of the schedule, buffers a
// micro-batch, and the dependencies between streams that the buffers imply.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <stdexcept>

#include "sim/build/passes.h"

namespace trainwire {
namespace {

bool lasts_the_step(Category c) {
  return c == Category::parameter || c == Category::gradient || c == Category::optimizer || c == Category::workspace;
}

// What is known of the order: by stream, the newest operation that has ended for certain.
using Clock = std::array<OpId, stream_count>;

class Unroller {
 public:
  Unroller(const Draft& d, int stage, std::int64_t micro_batches) : draft_(d), stage_(stage), count_(micro_batches) {
    program_.role = "stage " + std::to_string(stage);
    program_.stage = stage;
    program_.layers = d.layers;
    tensor_of_.assign(d.tensors.size(), -1);
    buffer_of_.assign(d.tensors.size(), {});
    newest_.fill(-1);
    receives_.assign(turns().size(), false);
    for (const std::size_t turn : d.receives[static_cast<std::size_t>(stage)]) receives_.at(turn) = true;
    blocked_by_.fill(-1);
    flat_of_.assign(d.flats.size(), -1);
    find_operations();
    find_triggers();
  }

  Program run() {
    const std::size_t step_end = draft_.forward.size() + draft_.backward.size() + draft_.step.size();
    for (std::size_t i = 0; i < draft_.start.size(); ++i)
      if (draft_.start[i].stage == stage_) emit(draft_.start[i], step_end + i, -1);
    for (std::size_t t = 0; t < turns().size(); ++t) {
      const Turn& turn = turns()[t];
      const bool forward = turn.kind == TurnKind::forward;
      const auto& ops = forward ? draft_.forward : draft_.backward;
      const std::size_t base = forward ? 0 : draft_.forward.size();
      receive_until(t);
      for (const std::size_t i : operations(turn)) {
        if (is_pipeline_receive(ops[i])) continue;
        emit(ops[i], base + i, turn.micro_batch);
        const auto ready = triggers_.find({t, i});
        if (!forward && ready != triggers_.end())
          for (const std::size_t step : ready->second) emit_step(step);
      }
    }
    for (std::size_t i = 0; i < draft_.step.size(); ++i)
      if (draft_.step[i].after < 0 && draft_.step[i].op.stage == stage_) emit_step(i);
    return std::move(program_);
  }

 private:
  static bool is_pipeline_receive(const DraftOp& op) { return op.stream == Stream::pipeline_receive; }

  // What the turn receives, and what is to be received before that.
  void receive_until(std::size_t turn) {
    const auto& order = draft_.receives[static_cast<std::size_t>(stage_)];
    while (receives_[turn]) {
      const std::size_t next = order.at(received_++);
      receives_[next] = false;
      const bool forward = turns()[next].kind == TurnKind::forward;
      const auto& ops = forward ? draft_.forward : draft_.backward;
      for (const std::size_t i : operations(turns()[next]))
        if (is_pipeline_receive(ops[i]))
          emit(ops[i], (forward ? 0 : draft_.forward.size()) + i, turns()[next].micro_batch);
    }
  }

  // Indices of a chunk's operations in the draft, by TurnKind.
  using ChunkOperations = std::array<std::vector<std::size_t>, 4>;

  const Turns& turns() const { return draft_.turns[static_cast<std::size_t>(stage_)]; }
  const std::vector<std::size_t>& operations(const Turn& t) const {
    return operations_.at(static_cast<std::size_t>(t.chunk))[static_cast<std::size_t>(t.kind)];
  }

  void find_operations() {
    const auto add = [this](std::size_t i, int chunk, TurnKind kind) {
      if (operations_.size() <= static_cast<std::size_t>(chunk))
        operations_.resize(static_cast<std::size_t>(chunk) + 1);
      operations_[static_cast<std::size_t>(chunk)][static_cast<std::size_t>(kind)].push_back(i);
    };
    for (std::size_t i = 0; i < draft_.forward.size(); ++i)
      if (draft_.forward[i].stage == stage_) add(i, draft_.forward[i].chunk, TurnKind::forward);
    for (std::size_t i = 0; i < draft_.backward.size(); ++i) {
      const DraftOp& op = draft_.backward[i];
      if (op.stage != stage_) continue;
      add(i, op.chunk, TurnKind::backward);
      add(i, op.chunk, is_weight_gradient(draft_, op) ? TurnKind::weight_gradient : TurnKind::input_gradient);
    }
  }

  // Operations of the step that may start before all is done: by the turn and operation right before them.
  void find_triggers() {
    constexpr std::size_t none = SIZE_MAX;
    std::vector<std::size_t> last_turn(draft_.backward.size(), none);
    for (std::size_t t = 0; t < turns().size(); ++t)
      if (turns()[t].kind != TurnKind::forward)
        for (const std::size_t i : operations(turns()[t])) last_turn[i] = t;
    for (std::size_t s = 0; s < draft_.step.size(); ++s) {
      if (draft_.step[s].after < 0 || draft_.step[s].op.stage != stage_) continue;
      std::pair<std::size_t, std::size_t> latest{0, 0};
      for (std::size_t i = 0; i <= static_cast<std::size_t>(draft_.step[s].after); ++i)
        if (last_turn[i] != none) latest = std::max(latest, std::pair{last_turn[i], i});
      triggers_[latest].push_back(s);
    }
  }

  void emit_step(std::size_t i) { emit(draft_.step[i].op, draft_.forward.size() + draft_.backward.size() + i, -1); }

  // A flat tensor and the parameters that are views of it name each other: numbered first, filled in after.
  TensorId local_tensor(TensorId t) {
    TensorId& local = tensor_of_[static_cast<std::size_t>(t)];
    if (local >= 0) return local;
    local = static_cast<TensorId>(program_.tensors.size());
    program_.tensors.push_back(tensor(draft_, t));
    const auto mine = [&]() -> Tensor& { return program_.tensors[static_cast<std::size_t>(local)]; };
    if (const TensorId whole = mine().view_of; whole >= 0) {
      const TensorId view_of = local_tensor(whole);
      mine().view_of = view_of;
    }
    if (const std::int32_t flat = mine().flat; flat >= 0) {
      const std::int32_t known = local_flat(flat);
      mine().flat = known;
    }
    return local;
  }

  std::int32_t local_flat(std::int32_t f) {
    std::int32_t& local = flat_of_[static_cast<std::size_t>(f)];
    if (local >= 0) return local;
    local = static_cast<std::int32_t>(program_.flats.size());
    program_.flats.emplace_back();
    std::vector<FlatPiece> pieces = draft_.flats[static_cast<std::size_t>(f)];
    for (FlatPiece& piece : pieces) piece.parameter = local_tensor(piece.parameter);
    program_.flats[static_cast<std::size_t>(local)] = std::move(pieces);
    return local;
  }

  BufferId buffer(TensorId t, std::int32_t micro_batch) {
    const Tensor& what = tensor(draft_, t);
    const std::int32_t slot = lasts_the_step(what.category) && !what.each_micro_batch ? -1 : micro_batch;
    auto& buffers = buffer_of_[static_cast<std::size_t>(t)];
    if (buffers.empty()) buffers.assign(static_cast<std::size_t>(slot < 0 ? 1 : count_), -1);
    BufferId& b = buffers[static_cast<std::size_t>(slot < 0 ? 0 : slot)];
    if (b < 0) {
      const TensorId whole = tensor(draft_, t).view_of;
      const BufferId owner = whole >= 0 ? buffer(whole, slot) : -1;
      program_.buffers.push_back({local_tensor(t), slot});
      b = static_cast<BufferId>(program_.buffers.size() - 1);
      root_.push_back(owner >= 0 ? owner : b);
      Clock none;
      none.fill(-1);
      last_write_.push_back(none);
      last_read_.push_back(none);
      written_.push_back(false);
    }
    return b;
  }

  Range operands(const std::vector<TensorId>& tensors, std::int32_t micro_batch) {
    const auto first = static_cast<std::uint32_t>(program_.operands.size());
    for (const TensorId t : tensors) program_.operands.push_back(buffer(t, micro_batch));
    return {first, static_cast<std::uint32_t>(tensors.size())};
  }

  std::uint16_t attributes(const Attributes& a) {
    for (std::size_t i = 0; i < program_.attributes.size(); ++i)
      if (program_.attributes[i] == a) return static_cast<std::uint16_t>(i);
    program_.attributes.push_back(a);
    return static_cast<std::uint16_t>(program_.attributes.size() - 1);
  }

  void emit(const DraftOp& from, std::size_t prototype, std::int32_t micro_batch) {
    Op op;
    op.kind = from.kind;
    op.role = from.role;
    op.stream = from.stream;
    op.axis = from.axis;
    op.reduction = from.reduction;
    op.layer = static_cast<std::int16_t>(from.layer);
    op.micro_batch = micro_batch;
    op.attributes = attributes(from.attributes);
    op.prototype = static_cast<std::uint32_t>(prototype);
    op.peer = from.peer;
    const std::int64_t number = from.message >= 0 ? from.message : static_cast<std::int64_t>(prototype);
    op.tag = static_cast<std::uint32_t>(number * count_ + (micro_batch < 0 ? 0 : micro_batch));
    op.inputs = operands(from.inputs, micro_batch);
    op.outputs = operands(from.outputs, micro_batch);
    op.accumulate = accumulates(op);
    std::vector<BufferId> waits;
    for (const TensorId t : from.waits) waits.push_back(buffer(t, micro_batch));
    order(op, from, waits);
    program_.ops.push_back(op);
  }

  // Gradients of parameters add up over micro-batches: the first writer sets, later ones add.
  bool accumulates(const Op& op) {
    if (op.role != Role::weight_gradient && op.role != Role::backward) return false;
    if (is_communication(op.kind) && op.kind != OpKind::reduce_scatter) return false;
    bool before = false;
    for (const BufferId b : program_.outputs(op)) {
      if (program_.tensor(b).category != Category::gradient) continue;
      before = before || written_[static_cast<std::size_t>(b)];
      written_[static_cast<std::size_t>(b)] = true;
    }
    return before;
  }

  // Dependencies on other streams, from who wrote and read the operands last; what is implied already is left out.
  void order(Op& op, const DraftOp& from, const std::vector<BufferId>& waits) {
    const auto self = static_cast<std::size_t>(op.stream);
    const auto id = static_cast<OpId>(program_.ops.size());
    Clock needed;
    needed.fill(-1);
    const auto need = [&needed](const Clock& before) {
      for (std::size_t s = 0; s < stream_count; ++s) needed[s] = std::max(needed[s], before[s]);
    };
    for (const BufferId b : program_.inputs(op)) need(last_write_[root(b)]);
    for (const BufferId b : waits) need(last_write_[root(b)]);
    for (const BufferId b : program_.outputs(op)) {
      need(last_write_[root(b)]);
      need(last_read_[root(b)]);
    }
    if (from.ahead >= 0) {
      const auto allowed = static_cast<std::size_t>(from.ahead) + 1;
      gathered_.push_back(program_.outputs(op)[0]);
      if (gathered_.size() > allowed) need(last_read_[root(gathered_[gathered_.size() - 1 - allowed])]);
    }
    if (op.stream == Stream::compute) {
      need(blocked_by_);
      blocked_by_.fill(-1);
    } else if (from.blocking) {
      blocked_by_[self] = id;
    }
    Clock known;
    known.fill(-1);
    if (newest_[self] >= 0) known = clocks_[static_cast<std::size_t>(newest_[self])];
    op.dependencies.first = static_cast<std::uint32_t>(program_.dependencies.size());
    while (true) {  // the latest unmet need first: it may imply the others
      std::size_t latest = stream_count;
      for (std::size_t s = 0; s < stream_count; ++s)
        if (s != self && needed[s] > known[s] && (latest == stream_count || needed[s] > needed[latest])) latest = s;
      if (latest == stream_count) break;
      program_.dependencies.push_back(needed[latest]);
      ++op.dependencies.count;
      const Clock& implied = clocks_[static_cast<std::size_t>(needed[latest])];
      for (std::size_t s = 0; s < stream_count; ++s) known[s] = std::max(known[s], implied[s]);
    }
    for (const BufferId b : program_.inputs(op)) last_read_[root(b)][self] = id;
    for (const BufferId b : program_.outputs(op)) last_write_[root(b)][self] = id;
    known[self] = id;
    clocks_.push_back(known);
    newest_[self] = id;
  }

  std::size_t root(BufferId b) const { return static_cast<std::size_t>(root_[static_cast<std::size_t>(b)]); }

  const Draft& draft_;
  int stage_;
  std::int64_t count_;
  std::vector<bool> receives_;  // by turn: receives something, and has not yet
  std::size_t received_ = 0;    // of the turns that receive, how many have
  Program program_;
  std::vector<ChunkOperations> operations_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> triggers_;
  std::vector<TensorId> tensor_of_;
  std::vector<std::int32_t> flat_of_;
  std::vector<BufferId> gathered_;  // by the operations with DraftOp::ahead so far
  std::vector<std::vector<BufferId>> buffer_of_;
  std::vector<BufferId> root_;
  std::vector<Clock> last_write_, last_read_, clocks_;
  std::vector<bool> written_;
  Clock newest_, blocked_by_;
};

}  // namespace

Plan unroll(const Draft& d, const Scenario& s) {
  Plan plan;
  plan.mesh = s.mesh;
  plan.parameters = d.parameters;
  plan.micro_batches = s.micro_batches();
  for (int stage = 0; stage < s.mesh.degree(Axis::pipeline); ++stage)
    plan.programs.push_back(Unroller(d, stage, plan.micro_batches).run());
  for (Rank r = 0; r < plan.mesh.size(); ++r) plan.program_of.push_back(plan.mesh.coordinate(r, Axis::pipeline));
  return plan;
}

}  // namespace trainwire
