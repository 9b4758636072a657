// Small plans made by hand, and a list scheduler that gives them a timeline, for the tests of sim/result.
#pragma once
#include <unistd.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/result/timeline.h"
#include "sim/scenario/scenario.h"

namespace toy {

using namespace trainwire;

inline DeviceMesh mesh_of(int tensor, int data, int pipeline) {
  return DeviceMesh({tensor, 1, 1, data, pipeline},
                    {Axis::tensor, Axis::context, Axis::expert, Axis::data, Axis::pipeline});
}

inline OpId add_op(Program& program, Op op, const std::vector<OpId>& waits_for = {},
                   const std::vector<BufferId>& inputs = {}, const std::vector<BufferId>& outputs = {}) {
  const auto range = [](auto& table, const auto& values) {
    const Range result{static_cast<std::uint32_t>(table.size()), static_cast<std::uint32_t>(values.size())};
    table.insert(table.end(), values.begin(), values.end());
    return result;
  };
  op.dependencies = range(program.dependencies, waits_for);
  op.inputs = range(program.operands, inputs);
  op.outputs = range(program.operands, outputs);
  program.ops.push_back(op);
  return static_cast<OpId>(program.ops.size()) - 1;
}

inline Op compute(OpKind kind, Role role = Role::forward, std::int32_t micro_batch = -1) {
  Op op;
  op.kind = kind;
  op.role = role;
  op.micro_batch = micro_batch;
  return op;
}

inline Op collective(OpKind kind, Axis axis, std::uint32_t tag) {
  Op op;
  op.kind = kind;
  op.axis = axis;
  op.stream = axis == Axis::tensor ? Stream::tensor : Stream::data;
  op.tag = tag;
  return op;
}

// A buffer with a tensor of its own, of `count` fp32 elements.
inline BufferId add_buffer(Program& program, Category category, std::int64_t count, std::int32_t micro_batch = -1,
                           TensorId view_of = -1) {
  Tensor tensor;
  tensor.name = "t" + std::to_string(program.tensors.size());
  tensor.shape = tensor.global = Shape{count};
  tensor.category = category;
  tensor.view_of = view_of;
  program.tensors.push_back(tensor);
  program.buffers.push_back({static_cast<TensorId>(program.tensors.size()) - 1, micro_batch});
  return static_cast<BufferId>(program.buffers.size()) - 1;
}

// Micro-batches of a stage in order: forwards positive (1…m), backwards negative.
using Order = std::vector<int>;
inline Order gpipe(int, int, int micro_batches) {
  Order order;
  for (int m = 1; m <= micro_batches; ++m) order.push_back(m);
  for (int m = micro_batches; m >= 1; --m) order.push_back(-m);
  return order;
}
inline Order one_f_one_b(int stage, int stages, int micro_batches) {
  Order order;
  const int warm_up = std::min(stages - 1 - stage, micro_batches);
  for (int m = 1; m <= warm_up; ++m) order.push_back(m);
  for (int m = 1; m <= micro_batches; ++m) {
    if (m + warm_up <= micro_batches) order.push_back(m + warm_up);
    order.push_back(-m);
  }
  return order;
}

// Adds the computing operation of one micro-batch of a stage with the messages that it needs and causes.
inline void add_stage_work(Program& program, int stages, int item) {
  const bool forward = item > 0;
  const int micro_batch = std::abs(item) - 1;
  const int step = forward ? 1 : -1;  // towards the stage that works next
  const auto message = [&](OpKind kind, int from) {
    Op op = compute(kind, forward ? Role::forward : Role::backward, micro_batch);
    op.axis = Axis::pipeline;
    op.stream = kind == OpKind::send ? Stream::pipeline_send : Stream::pipeline_receive;
    op.peer = kind == OpKind::send ? step : -step;
    op.tag = static_cast<std::uint32_t>((micro_batch * 2 + (forward ? 0 : 1)) * stages + from);
    return op;
  };
  const int first = forward ? 0 : stages - 1;
  std::vector<OpId> waits_for;
  if (program.stage != first) waits_for.push_back(add_op(program, message(OpKind::recv, program.stage - step)));
  const OpId work =
      add_op(program, compute(OpKind::linear, forward ? Role::forward : Role::backward, micro_batch), waits_for);
  if (program.stage != stages - 1 - first) add_op(program, message(OpKind::send, program.stage), {work});
}

inline Plan pipeline(int stages, int micro_batches, Order (*order)(int, int, int)) {
  Plan plan;
  plan.mesh = mesh_of(1, 1, stages);
  plan.micro_batches = micro_batches;
  for (int stage = 0; stage < stages; ++stage) {
    Program program;
    program.stage = stage;
    program.role = "stage " + std::to_string(stage);
    program.layers = {"blocks.0"};
    for (const int item : order(stage, stages, micro_batches)) add_stage_work(program, stages, item);
    plan.programs.push_back(std::move(program));
    plan.program_of.push_back(stage);
  }
  return plan;
}

// Each operation starts when its stream and what it waits for are done, a communication when every member is.
inline Timeline schedule(const Plan& plan, const std::function<double(Rank, const Op&)>& duration) {
  Timeline timeline;
  timeline.kind = "simulated";
  timeline.executor = "simgrid";
  const auto world = static_cast<std::size_t>(plan.mesh.size());
  const auto rank_of = [](std::size_t r) { return static_cast<Rank>(r); };
  std::vector<std::vector<double>> ready(world);  // when each operation could start on its rank; < 0: not known yet

  for (std::size_t r = 0; r < world; ++r) {
    timeline.ranks.push_back({rank_of(r), std::vector<Span>(plan.program(rank_of(r)).ops.size(), Span{-1, -1})});
    timeline.timeline_of.push_back(static_cast<std::int32_t>(r));
    ready[r].assign(timeline.ranks[r].spans.size(), -1);
  }
  const auto ready_time = [&](std::size_t r, std::size_t i) {
    const Program& program = plan.program(rank_of(r));
    double time = 0;
    const auto wait = [&](std::size_t j) {
      const double end = timeline.ranks[r].spans[j].end_s;
      time = end < 0 || time < 0 ? -1 : std::max(time, end);
    };
    for (std::size_t j = i; j-- > 0;)
      if (program.ops[j].stream == program.ops[i].stream) {
        wait(j);
        break;
      }
    for (const OpId id : program.waits_for(program.ops[i])) wait(static_cast<std::size_t>(id));
    return time;
  };
  const auto members = [&](std::size_t r, const Op& op) {
    if (!is_communication(op.kind)) return std::vector<Rank>{rank_of(r)};
    if (!is_point_to_point(op.kind)) return plan.mesh.group(rank_of(r), op.axis);
    const int there = plan.mesh.coordinate(rank_of(r), op.axis) + op.peer;
    return std::vector<Rank>{rank_of(r), plan.mesh.neighbour(rank_of(r), op.axis, there)};
  };
  const auto start_time = [&](std::size_t r, std::size_t i) {
    const Op& op = plan.program(rank_of(r)).ops[i];
    double start = 0;
    for (const Rank member : members(r, op)) {
      const auto m = static_cast<std::size_t>(member);
      const auto& ops = plan.program(member).ops;
      for (std::size_t j = 0; j < ops.size(); ++j) {
        const bool same = is_communication(op.kind)
                              ? is_communication(ops[j].kind) && ops[j].axis == op.axis && ops[j].tag == op.tag
                              : j == i;
        if (same && start >= 0) start = ready[m][j] < 0 ? -1 : std::max(start, ready[m][j]);
      }
    }
    return start;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t r = 0; r < world; ++r)
      for (std::size_t i = 0; i < ready[r].size(); ++i)
        if (ready[r][i] < 0) ready[r][i] = ready_time(r, i);
    for (std::size_t r = 0; r < world; ++r)
      for (std::size_t i = 0; i < ready[r].size(); ++i) {
        Span& span = timeline.ranks[r].spans[i];
        if (span.end_s >= 0 || ready[r][i] < 0) continue;
        const double start = start_time(r, i);
        if (start < 0) continue;
        span = {start, start + duration(rank_of(r), plan.program(rank_of(r)).ops[i])};
        timeline.step_time_s = std::max(timeline.step_time_s, span.end_s);
        changed = true;
      }
  }
  return timeline;
}

// A folder that is removed at the end of the test.
struct TemporaryFolder {
  std::filesystem::path path;
  explicit TemporaryFolder(const std::string& name)
      : path(std::filesystem::temp_directory_path() / ("trainwire-" + name + "-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace toy
