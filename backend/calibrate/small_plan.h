// Small plans made by hand, for timing what ranks cost each other with the executor's own threads and messages.
#pragma once
#include <initializer_list>

#include "sim/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace trainwire::cpu {

// One program that every rank of an axis runs, operation after operation.
class SmallProgram {
 public:
  explicit SmallProgram(Axis axis) : axis_(axis) { program_.role = "calibrate"; }

  BufferId buffer(Shape shape, Category category = Category::workspace);
  OpId compute(OpKind kind, Role role, std::initializer_list<BufferId> inputs, std::initializer_list<BufferId> outputs,
               std::initializer_list<OpId> after = {});
  // In place, over the axis.
  OpId all_reduce(BufferId data, std::initializer_list<OpId> after = {});
  OpId send(BufferId data, std::uint32_t tag, int peer, std::initializer_list<OpId> after = {});
  OpId receive(BufferId data, std::uint32_t tag, int peer, std::initializer_list<OpId> after = {});

  Program take() { return std::move(program_); }

 private:
  OpId add(Op op, std::initializer_list<BufferId> inputs, std::initializer_list<BufferId> outputs,
           std::initializer_list<OpId> after);

  Axis axis_;
  Program program_;
  std::uint32_t tag_ = 0;
};

// `programs`: one for all ranks, or one a rank. With a scenario that the executor takes.
struct SmallRun {
  Plan plan;
  Scenario scenario;
};
SmallRun small_run(Axis axis, int ranks, std::vector<Program> programs);

}  // namespace trainwire::cpu
