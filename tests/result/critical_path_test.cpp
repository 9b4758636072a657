// What determines the end of a step.
#include "sim/result/analysis.h"
#include "tests/result/toy.h"
#include "tests/test.h"

using namespace trainwire;

namespace {

double share(const std::vector<BoundBy>& parts, const std::string& what) {
  for (const auto& part : parts)
    if (part.what == what) return part.share;
  return 0;
}

double total(const std::vector<BoundBy>& parts) {
  double sum = 0;
  for (const auto& part : parts) sum += part.share;
  return sum;
}

}  // namespace

TEST_CASE("The critical path of a pipeline crosses stages and holds no bubble") {
  // One micro-batch: forward through all stages, then backward through all: compute p·(f+b), messages 2(p-1)·t.
  const int stages = 4;
  const double forward = 1, backward = 2, message = 0.5;
  const Plan plan = toy::pipeline(stages, 1, toy::gpipe);
  const Timeline timeline = toy::schedule(plan, [&](Rank, const Op& op) {
    return is_communication(op.kind) ? message : op.role == Role::forward ? forward : backward;
  });
  const auto parts = critical_path({}, plan, timeline);
  const double step = stages * (forward + backward) + 2 * (stages - 1) * message;
  CHECK(timeline.step_time_s == Approx(step));
  CHECK(share(parts, "compute: linear") == Approx(stages * (forward + backward) / step));
  CHECK(share(parts, "communication: pipeline") == Approx(2 * (stages - 1) * message / step));
  CHECK(share(parts, "wait") == 0);
  CHECK(total(parts) == Approx(1));
}

TEST_CASE("The path of a collective goes through its slowest member") {
  Plan plan;
  plan.mesh = toy::mesh_of(1, 2, 1);
  plan.program_of = {0, 1};
  for (const OpKind kind : {OpKind::linear, OpKind::attention}) {
    Program program;
    const OpId work = toy::add_op(program, toy::compute(kind));
    toy::add_op(program, toy::collective(OpKind::all_reduce, Axis::data, 7), {work});
    plan.programs.push_back(program);
  }
  const Timeline timeline = toy::schedule(plan, [](Rank, const Op& op) {
    return is_communication(op.kind) ? 1.0 : op.kind == OpKind::attention ? 3.0 : 1.0;
  });
  const auto parts = critical_path({}, plan, timeline);
  CHECK(share(parts, "compute: attention") == Approx(0.75));
  CHECK(share(parts, "compute: linear") == 0);
  CHECK(share(parts, "communication: data") == Approx(0.25));
  CHECK(parts.front().what == "compute: attention");
}

TEST_CASE("Time on the path that no operation explains is waiting") {
  Plan plan;
  plan.mesh = toy::mesh_of(1, 1, 1);
  plan.program_of = {0};
  Program program;
  toy::add_op(program, toy::compute(OpKind::linear));
  toy::add_op(program, toy::compute(OpKind::gelu));
  plan.programs.push_back(program);
  Timeline timeline;
  timeline.step_time_s = 10;
  timeline.ranks = {{0, {{1, 4}, {6, 9}}}};
  timeline.timeline_of = {0};
  const auto parts = critical_path({}, plan, timeline);
  CHECK(share(parts, "wait") == Approx((1.0 + 2.0 + 1.0) / 10));
  CHECK(share(parts, "compute: gelu") == Approx(0.3));
  CHECK(total(parts) == Approx(1));
}
