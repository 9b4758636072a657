// The verifier finds what it is there for: violations planted in sound plans are named.
#include <algorithm>

#include "sim/build/passes.h"
#include "sim/plan/deadlock.h"
#include "tests/scenarios.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

bool mentions(const std::vector<std::string>& violations, const std::string& text) {
  return std::any_of(violations.begin(), violations.end(),
                     [&](const std::string& v) { return v.find(text) != std::string::npos; });
}

Op& first_of(Program& p, OpKind kind) {
  return *std::find_if(p.ops.begin(), p.ops.end(), [&](const Op& op) { return op.kind == kind; });
}

}  // namespace

TEST_CASE("an operation that no longer waits for another stream's result is found", "[plan]") {
  Plan plan = build_plan(make_scenario(tiny_gpt(), {2, 2, 1}));
  for (Op& op : plan.programs[0].ops) op.dependencies.count = 0;
  CHECK(mentions(verify(plan), "may run before operation"));
}

TEST_CASE("dropping any single dependency of a plan is found", "[plan]") {
  const Plan sound = build_plan(make_scenario(tiny_gpt(), {2, 2, 2}, 8));
  for (std::size_t i = 0; i < sound.programs[0].ops.size(); ++i) {
    if (sound.programs[0].ops[i].dependencies.count == 0) continue;
    Plan plan = sound;
    --plan.programs[0].ops[i].dependencies.count;
    CAPTURE(i, op_name(plan.programs[0], plan.programs[0].ops[i]));
    CHECK_FALSE(verify(plan).empty());
  }
}

TEST_CASE("a read before any write is found", "[plan]") {
  Plan plan = build_plan(make_scenario(tiny_mlp(), {}));
  plan.programs[0].ops.erase(plan.programs[0].ops.begin());
  CHECK(mentions(verify(plan), "before it is written"));
}

TEST_CASE("a dependency on a later operation or on the own stream is found", "[plan]") {
  Plan plan = build_plan(make_scenario(tiny_gpt(), {1, 2, 1}));
  Program& p = plan.programs[0];
  const auto waiting = std::find_if(p.ops.begin(), p.ops.end(), [](const Op& op) { return op.dependencies.count > 0; });
  p.dependencies[waiting->dependencies.first] = static_cast<OpId>(p.ops.size() - 1);
  CHECK(mentions(verify(plan), "does not come before it"));
}

TEST_CASE("a send without its receive, or of another size, is found", "[plan]") {
  const Plan sound = build_plan(make_scenario(tiny_llama(), {1, 1, 2}));
  Plan missing = sound;
  first_of(missing.programs[1], OpKind::recv).tag += 100000;
  CHECK(mentions(verify(missing), "no receive of equal size"));
  Plan outside = sound;
  first_of(outside.programs[0], OpKind::send).peer = -1;
  CHECK(mentions(verify(outside), "lies outside the pipeline axis"));
}

TEST_CASE("ranks that disagree on the order of an axis' collectives are named", "[plan]") {
  Plan plan = build_plan(make_scenario(tiny_gpt(), {2, 1, 1}));
  plan.programs.push_back(plan.programs[0]);
  plan.program_of[1] = 1;
  REQUIRE(verify(plan).empty());
  std::vector<Op*> reduces;
  for (Op& op : plan.programs[1].ops)
    if (op.kind == OpKind::all_reduce) reduces.push_back(&op);
  reduces.front()->tag += 1;
  CHECK(mentions(verify(plan), "rank 0 (stage 0) and rank 1 (stage 0) disagree on collective 0 of the data axis"));
}

TEST_CASE("a plan whose stages disagree on the order of transfers is refused with who waits for whom", "[plan]") {
  const Scenario s = make_scenario(tiny_llama(), {1, 1, 2});
  Draft d;
  for (const auto pass : {lower, backward, pipeline_cut, pipeline_schedule, optimizer}) pass(d, s);
  CHECK(verify(unroll(d, s)).empty());
  std::swap(d.receives[1][0], d.receives[1][1]);  // the inversion
  const auto found = verify(unroll(d, s));
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], contains("deadlock: stage") && contains("stage 0, operation") &&
                           contains("stage 1, operation") && contains("blocks.1.add2 send over pipeline") &&
                           contains("waits for") && contains("comes after"));
}

// Two streams of a rank run collectives of two axes; where ranks of one group take them the other way round, both wait.
TEST_CASE("collectives of two axes in opposite order on two ranks are a deadlock", "[plan]") {
  const auto program = [](Axis first, Axis second) {
    Program p;
    p.role = "first " + std::string(to_text(first));
    p.tensors.resize(1);
    p.tensors[0].name = "x";
    p.tensors[0].category = Category::parameter;
    p.tensors[0].shape = p.tensors[0].global = {4};
    p.buffers = {{0, -1}};
    p.operands = {0};
    for (const Axis axis : {first, second}) {
      Op op;
      op.kind = OpKind::all_reduce;
      op.stream = axis == Axis::data ? Stream::data : Stream::tensor;
      op.axis = axis;
      op.inputs = op.outputs = {0, 1};
      p.ops.push_back(op);
    }
    p.dependencies = {0};
    p.ops[1].dependencies = {0, 1};
    return p;
  };
  Plan plan;
  plan.mesh = DeviceMesh({2, 1, 1, 2, 1}, {Axis::tensor, Axis::context, Axis::expert, Axis::data, Axis::pipeline});
  plan.programs = {program(Axis::tensor, Axis::data), program(Axis::data, Axis::tensor)};
  plan.program_of = {0, 0, 0, 0};
  CHECK(find_deadlock(plan).empty());
  plan.program_of = {0, 1, 1, 0};
  const auto found = find_deadlock(plan);
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], contains("deadlock: first tensor, operation 0 (x all_reduce over tensor) waits for first data, "
                                "operation 1 (x all_reduce over tensor), which comes after first data, operation 0"));
}
