// Memory of a stage, from the lives of its buffers.
#include "sim/result/report.h"
#include "tests/result/toy.h"
#include "tests/test.h"

using namespace trainwire;

namespace {

constexpr double bytes = 4;  // of an element

Plan plan_of(Program program) {
  Plan plan;
  plan.mesh = toy::mesh_of(1, 1, 1);
  plan.program_of = {0};
  plan.programs.push_back(std::move(program));
  return plan;
}

// forward: x -> y -> z; then the gradient of w inside a bucket; then the update.
Program small_training() {
  Program p;
  const auto w = toy::add_buffer(p, Category::parameter, 100);
  const auto bucket = toy::add_buffer(p, Category::gradient, 100);
  const auto gradient = toy::add_buffer(p, Category::gradient, 100, -1, p.buffers[1].tensor);
  const auto momentum = toy::add_buffer(p, Category::optimizer, 200);
  const auto y = toy::add_buffer(p, Category::activation, 10, 0);
  const auto scratch = toy::add_buffer(p, Category::workspace, 7, 0);
  const auto z = toy::add_buffer(p, Category::activation, 20, 0);
  toy::add_op(p, toy::compute(OpKind::linear), {}, {w}, {y});
  toy::add_op(p, toy::compute(OpKind::gelu), {}, {y}, {scratch});
  toy::add_op(p, toy::compute(OpKind::gelu), {}, {scratch}, {z});
  toy::add_op(p, toy::compute(OpKind::linear, Role::backward), {}, {z, w}, {gradient});
  toy::add_op(p, toy::compute(OpKind::optimizer, Role::update), {}, {bucket, momentum, w}, {w, momentum});
  return p;
}

}  // namespace

TEST_CASE("Memory at the peak: what stays, plus what is alive at that operation; a view counts with its bucket") {
  const auto stages = memory_by_stage(plan_of(small_training()));
  REQUIRE(stages.size() == 1);
  CHECK(stages[0].parameters == 100 * bytes);
  CHECK(stages[0].gradients == 100 * bytes);
  CHECK(stages[0].optimizer == 200 * bytes);
  CHECK(stages[0].activations == 20 * bytes);  // y ended where scratch was made; z is alive beside scratch
  CHECK(stages[0].workspace == 7 * bytes);
  CHECK(stages[0].peak == (100 + 100 + 200 + 20 + 7) * bytes);
}

TEST_CASE("Along a timeline a buffer lives from the start of its first use to the end of its last") {
  const Plan plan = plan_of(small_training());
  Timeline timeline;
  timeline.step_time_s = 5;
  timeline.ranks = {{0, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}}};
  timeline.timeline_of = {0};
  const auto curve = memory_curve(plan, timeline);
  const auto at = [&](double time) {
    double value = 0;
    for (const auto& point : curve)
      if (point.time_s <= time) value = point.bytes;
    return value;
  };
  CHECK(at(0.5) == (400 + 10) * bytes);
  CHECK(at(1.5) == (400 + 10 + 7) * bytes);
  CHECK(at(2.5) == (400 + 7 + 20) * bytes);
  CHECK(at(3.5) == (400 + 20) * bytes);
  CHECK(at(4.5) == 400 * bytes);
  CHECK(curve.front().time_s == 0);
  CHECK(curve.back().time_s == 5);
}

TEST_CASE("GPipe keeps the activations of all micro-batches, 1F1B of at most as many as stages follow") {
  // Narayanan et al. 2021 (Megatron-LM), section 2.2.1.
  const int stages = 4, micro_batches = 8;
  for (const bool early_backward : {false, true})
    for (int stage = 0; stage < stages; ++stage) {
      Program program;
      program.stage = stage;
      const auto order = (early_backward ? toy::one_f_one_b : toy::gpipe)(stage, stages, micro_batches);
      std::vector<BufferId> kept;
      for (int m = 0; m < micro_batches; ++m) kept.push_back(toy::add_buffer(program, Category::activation, 1000, m));
      for (const int item : order) {
        const BufferId buffer = kept[static_cast<std::size_t>(std::abs(item) - 1)];
        if (item > 0)
          toy::add_op(program, toy::compute(OpKind::linear), {}, {}, {buffer});
        else
          toy::add_op(program, toy::compute(OpKind::linear, Role::backward), {}, {buffer}, {});
      }
      CAPTURE(early_backward, stage);
      const int alive = early_backward ? stages - stage : micro_batches;
      CHECK(memory_by_stage(plan_of(program))[0].activations == alive * 1000 * bytes);
    }
}

TEST_CASE("The thinned curve of a long step keeps its highest point") {
  Program program;
  Timeline timeline;
  timeline.ranks = {{0, {}}};
  timeline.timeline_of = {0};
  const int operations = 20'000;
  for (int i = 0; i < operations; ++i) {
    const auto buffer = toy::add_buffer(program, Category::activation, i == 7777 ? 5000 : 10, i);
    toy::add_op(program, toy::compute(OpKind::linear), {}, {}, {buffer});
    timeline.ranks[0].spans.push_back({i * 1.0, i + 1.0});
  }
  timeline.step_time_s = operations;
  const auto curve = memory_curve(plan_of(program), timeline);
  double highest = 0;
  for (const auto& point : curve) highest = std::max(highest, point.bytes);
  CHECK(highest == 5000 * bytes);
  CHECK(curve.size() <= 2000);
  CHECK(std::is_sorted(curve.begin(), curve.end(), [](auto& a, auto& b) { return a.time_s < b.time_s; }));
}
