// A plan: which operations each rank runs, in which order, on which buffers. It knows no durations, no SimGrid, no CUDA.
// Ranks of one role share a Program; a rank's program, groups and shard offsets follow from its mesh coordinates.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/ops/ops.h"
#include "sim/plan/mesh.h"

namespace trainwire {

// How a tensor lies on one axis of the mesh.
struct Placement {
  enum class Kind : std::uint8_t { replicate, shard, partial } kind = Kind::replicate;
  std::int8_t dim = 0;  // shard: which dimension
  // shard: member i of n has parts i and 2n-1-i of 2n, so that causal attention costs all members the same
  bool zigzag = false;
  bool operator==(const Placement&) const = default;
};

enum class Category : std::uint8_t { parameter, gradient, optimizer, activation, workspace, input };
std::string_view to_text(Category);

using TensorId = std::int32_t;  // into Program::tensors
using BufferId = std::int32_t;  // into Program::buffers
using OpId = std::int32_t;      // into Program::ops

// Rows that routing shares out at run time lie in parts, one a member of the expert axis: of each the number of rows of
// every local expert, then the rows by expert. Tensor::shape says how many rows are expected.
struct Routed {
  std::int32_t parts = 0;    // 0: an ordinary tensor
  std::int32_t experts = 0;  // local ones
  std::int64_t rows = 0;     // at most, of a part
  std::int64_t busiest = 0;  // rows that the busiest member of the axis is expected to exchange
  bool operator==(const Routed&) const = default;
};

// What a buffer holds. A program's tensors are those of one micro-batch and those of the whole step.
struct Tensor {
  std::string name;
  Shape shape;         // local to the rank
  Shape global;        // before sharding
  DType dtype = DType::fp32;
  Category category = Category::activation;
  std::array<Placement, axis_count> placement{};
  std::int16_t layer = -1;
  TensorId view_of = -1;      // a gradient inside its bucket
  std::int64_t offset = 0;    // in elements of view_of
  std::int32_t parameter = -1;  // parameters, their gradients and states: index of the model's parameter (Plan::parameters)
  Routed routed{};
  std::int32_t flat = -1;       // parameters laid end to end: into Program::flats. A view of such a tensor that is sharded
                                // on an axis lies at coordinate · elements inside it
  bool each_micro_batch = false;  // a parameter or gradient that is there for one micro-batch alone
  bool gathered = false;          // a parameter that an all-gather makes before use: no part of what the rank keeps
  double bytes() const { return static_cast<double>(shape.elements()) * bytes_of(dtype); }
  // Elements that an execution has to make room for.
  std::int64_t storage() const {
    return routed.parts == 0 ? shape.elements() : routed.parts * (routed.experts + routed.rows * shape[shape.rank - 1]);
  }
};

// What lies where in a flat tensor: a parameter of the rank (its shape, placement, index) from element `offset` on.
struct FlatPiece {
  TensorId parameter = -1;
  std::int64_t offset = 0;
};

// A tensor of one micro-batch, or of the whole step (micro_batch -1).
struct Buffer {
  TensorId tensor = -1;
  std::int32_t micro_batch = -1;
};

// Streams run their operations in order, each on its own; dependencies cross streams.
enum class Stream : std::uint8_t { compute, tensor, context, expert, data, pipeline_send, pipeline_receive, replica };
constexpr int stream_count = 8;
std::string_view to_text(Stream);

struct Range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// Size matters: a plan has up to millions of these (static_assert in plan.cpp).
struct Op {
  OpKind kind = OpKind::add;
  Role role = Role::forward;
  Stream stream = Stream::compute;
  Axis axis = Axis::tensor;     // communication: whose group
  Reduction reduction = Reduction::sum;
  bool accumulate = false;      // weight gradients, reduce_scatter: add to what is there
  std::int16_t layer = -1;
  std::int32_t micro_batch = -1;
  std::uint16_t attributes = 0;  // into Program::attributes
  std::uint32_t prototype = 0;   // operations with equal prototype do the same work on equal shapes (cost is asked once)
  std::int32_t peer = 0;         // point to point: steps along the axis to the other rank (+1 next, -1 previous)
  std::uint32_t tag = 0;         // communication: equal on every rank that takes part, unique on the axis otherwise
  Range inputs, outputs;         // into Program::operands
  Range dependencies;            // into Program::dependencies: operations of other streams that must have ended
};

struct Program {
  std::string role;  // "stage 0"
  int stage = 0;
  std::vector<Op> ops;  // in an order that respects all dependencies
  std::vector<Tensor> tensors;
  std::vector<std::vector<FlatPiece>> flats;  // ordered by offset
  std::vector<Buffer> buffers;
  std::vector<BufferId> operands;
  std::vector<OpId> dependencies;
  std::vector<Attributes> attributes;
  std::vector<std::string> layers;  // names of the model's layers, by Op::layer

  std::span<const BufferId> inputs(const Op& op) const { return {operands.data() + op.inputs.first, op.inputs.count}; }
  std::span<const BufferId> outputs(const Op& op) const { return {operands.data() + op.outputs.first, op.outputs.count}; }
  std::span<const OpId> waits_for(const Op& op) const { return {dependencies.data() + op.dependencies.first, op.dependencies.count}; }
  const Tensor& tensor(BufferId b) const { return tensors[static_cast<std::size_t>(buffers[static_cast<std::size_t>(b)].tensor)]; }
  double communication_bytes(const Op& op) const;  // payload: the sum of the input buffers (all_gather: of the outputs)
};

// A parameter of the model before any sharding: what a checkpoint would name.
struct ModelParameter {
  std::string name;
  Shape shape;
  int split = -1;  // the dimension that tensor parallelism divides
  float init_mean = 0, init_std = 0;
  bool decay = false;
  bool experts = false;  // dimension 0 are experts: expert parallelism divides it
};

struct Plan {
  DeviceMesh mesh;
  std::vector<Program> programs;
  std::vector<std::int32_t> program_of;  // rank -> program
  std::vector<ModelParameter> parameters;
  std::int64_t micro_batches = 1;        // a replica runs in a step
  const Program& program(Rank r) const { return programs[static_cast<std::size_t>(program_of[static_cast<std::size_t>(r)])]; }
};

// "blocks.3.attention.qkv linear forward mb 2"
std::string op_name(const Program&, const Op&);
// "forward" | "backward" | "update" | "communication"
std::string_view phase(const Op&);

// Checks: operands exist and are written before they are read; dependencies point backwards and cross streams; every
// rank of a group has the collectives of an axis in the same order with equal tags, sizes and reductions; every send
// has its receive of equal size. Returns one line a violation, naming rank or program and operation; empty: sound.
std::vector<std::string> verify(const Plan&);

}  // namespace trainwire
