// What the passes work on: the operations of one micro-batch of the whole model, before micro-batches and stages are
// spelled out. Lists grow and shrink here; sim/build/unroll.cpp turns the finished draft into compact programs.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace trainwire {

struct DraftOp {
  OpKind kind = OpKind::add;
  Role role = Role::forward;
  Stream stream = Stream::compute;
  Axis axis = Axis::tensor;
  Reduction reduction = Reduction::sum;
  Attributes attributes;
  int layer = -1;
  int stage = 0;
  int chunk = 0;     // of the stage's chunks
  int peer = 0;      // point to point
  int message = -1;  // number of the transfer, equal on all programs that take part; -1: the same operation everywhere
  int ahead = -1;    // gathers: starts when all but this many of those before it have been used; -1: at any time
  bool blocking = false;  // communication: computing goes on when it has ended
  std::vector<TensorId> inputs, outputs;
  std::vector<TensorId> waits;  // must be there before it starts, though it does not read them
};

// An operation of the whole step: runs as soon as the stage's backward operations up to `after` (an index into
// Draft::backward) have run for the last time, or, where after is -1, when all micro-batches are done.
struct StepOp {
  DraftOp op;
  int after = -1;
};

// What a rank updates where it keeps the optimizer states of its shard alone.
struct ShardUpdate {
  int stage = 0, layer = -1;
  TensorId gradient = -1, parameter = -1;  // shards of flat tensors
  std::optional<DraftOp> gather;           // of the updated parameters, where every rank keeps all of them
};

struct Draft {
  std::vector<Tensor> tensors;
  std::vector<ModelParameter> parameters;
  std::vector<TensorId> parameter_tensor;  // by model parameter
  std::vector<DraftOp> forward, backward;
  std::vector<DraftOp> start;  // before the first micro-batch
  std::vector<StepOp> step;
  std::vector<ShardUpdate> shards;
  std::vector<std::vector<FlatPiece>> flats;  // as Program::flats
  std::vector<std::string> layers;
  std::vector<int> piece_of_layer;                 // of the model along its layers; PipelineShape says where it lies
  std::vector<Turns> turns;                        // by stage
  std::vector<std::vector<std::size_t>> receives;  // by stage: turns that receive, in the order of their receives
  int messages = 0;                                // transfers numbered so far
};

TensorId add_tensor(Draft&, Tensor);
Tensor& tensor(Draft&, TensorId);
const Tensor& tensor(const Draft&, TensorId);
// A tensor with this one's shapes and placement, but another name, type and category.
TensorId add_like(Draft&, TensorId model, std::string name, DType, Category);

// Yields nothing but gradients of parameters, or reduces them: a schedule may put it off.
bool is_weight_gradient(const Draft&, const DraftOp&);

// What a change of placement on one axis needs.
enum class Transition : std::uint8_t { none, all_reduce, all_gather, reduce_scatter, all_to_all };
Transition transition(Placement from, Placement to);

// What must hold between passes: operands in range and written before they are read, local shapes that follow from
// the global ones and the placements. One line a violation.
std::vector<std::string> verify(const Draft&, const DeviceMesh&);

// A strategy rewrites the draft for its own axis; at degree 1 it leaves the draft as it is.
void tensor_parallel(Draft&, const Scenario&);    // Megatron's column and row split, collectives of the forward pass
// Sums over the tensor axis of the parameter gradients that its ranks have parts of: after their last micro-batch, and
// before anything else treats them.
void tensor_gradients(Draft&, const Scenario&);
void context_parallel(Draft&, const Scenario&);   // shares of every sequence, collectives around attention
void expert_parallel(Draft&, const Scenario&);    // shares of the experts, all-to-alls around them
void pipeline_cut(Draft&, const Scenario&);       // layers to stages, sends and receives
void recompute(Draft&, const Scenario&);          // forward passes again before their backward passes
void pipeline_schedule(Draft&, const Scenario&);  // the order of micro-batches on every stage
void data_parallel(Draft&, const Scenario&);      // gradient buckets, what is sharded over replicas, and its collectives

}  // namespace trainwire
