#include "backend/calibrate/small_plan.h"

#include <algorithm>

namespace trainwire::cpu {
namespace {

Stream stream_of(Axis axis) { return axis == Axis::data ? Stream::data : Stream::tensor; }

}  // namespace

BufferId SmallProgram::buffer(Shape shape, Category category) {
  Tensor tensor;
  tensor.name = "buffer " + std::to_string(program_.tensors.size());
  tensor.shape = tensor.global = shape;
  tensor.category = category;
  program_.tensors.push_back(std::move(tensor));
  program_.buffers.push_back({static_cast<TensorId>(program_.tensors.size()) - 1, -1});
  return static_cast<BufferId>(program_.buffers.size()) - 1;
}

OpId SmallProgram::add(Op op, std::initializer_list<BufferId> inputs, std::initializer_list<BufferId> outputs,
                       std::initializer_list<OpId> after) {
  const auto append = [](auto& all, const auto& some) {
    const Range range{static_cast<std::uint32_t>(all.size()), static_cast<std::uint32_t>(some.size())};
    all.insert(all.end(), some.begin(), some.end());
    return range;
  };
  if (program_.attributes.empty()) program_.attributes.emplace_back();
  op.inputs = append(program_.operands, inputs);
  op.outputs = append(program_.operands, outputs);
  op.dependencies = append(program_.dependencies, after);
  op.prototype = static_cast<std::uint32_t>(program_.ops.size());
  program_.ops.push_back(op);
  return static_cast<OpId>(program_.ops.size()) - 1;
}

OpId SmallProgram::compute(OpKind kind, Role role, std::initializer_list<BufferId> inputs,
                           std::initializer_list<BufferId> outputs, std::initializer_list<OpId> after) {
  Op op;
  op.kind = kind;
  op.role = role;
  return add(op, inputs, outputs, after);
}

OpId SmallProgram::all_reduce(BufferId data, std::initializer_list<OpId> after) {
  Op op;
  op.kind = OpKind::all_reduce;
  op.axis = axis_;
  op.stream = stream_of(axis_);
  op.tag = tag_++;
  return add(op, {data}, {data}, after);
}

OpId SmallProgram::send(BufferId data, std::uint32_t tag, int peer, std::initializer_list<OpId> after) {
  Op op;
  op.kind = OpKind::send;
  op.axis = axis_;
  op.stream = Stream::pipeline_send;
  op.peer = peer;
  op.tag = tag;
  return add(op, {data}, {}, after);
}

OpId SmallProgram::receive(BufferId data, std::uint32_t tag, int peer, std::initializer_list<OpId> after) {
  Op op;
  op.kind = OpKind::recv;
  op.axis = axis_;
  op.stream = Stream::pipeline_receive;
  op.peer = peer;
  op.tag = tag;
  return add(op, {}, {data}, after);
}

SmallRun small_run(Axis axis, int ranks, std::vector<Program> programs) {
  SmallRun run;
  std::array<int, axis_count> degrees{1, 1, 1, 1, 1};
  degrees[static_cast<std::size_t>(axis)] = ranks;
  run.plan.mesh = DeviceMesh(degrees, run.scenario.strategy.order);
  run.plan.programs = std::move(programs);
  const auto last = static_cast<std::int32_t>(run.plan.programs.size()) - 1;
  run.scenario.mesh = run.plan.mesh;
  run.scenario.training.precision = Precision::fp32;
  run.scenario.topology.specs.resize(1);
  for (int r = 0; r < ranks; ++r) {
    run.plan.program_of.push_back(std::min(r, last));
    run.scenario.placement.push_back(r);
    run.scenario.topology.devices.push_back({"cpu" + std::to_string(r), 0, r, 0});
  }
  return run;
}

}  // namespace trainwire::cpu
