// Where the time of a step goes.
#include "sim/result/analysis.h"
#include "tests/result/toy.h"
#include "tests/test.h"

#include <random>

using namespace trainwire;

namespace {

double sum(const Breakdown& b) {
  double total = b.compute_s + b.bubble_s + b.other_s;
  for (const auto& [axis, seconds] : b.exposed_s) total += seconds;
  return total;
}

// Messages take no time; a forward takes 1 s, a backward 2 s.
double free_messages(Rank, const Op& op) {
  if (is_communication(op.kind)) return 0;
  return op.role == Role::forward ? 1 : 2;
}

}  // namespace

TEST_CASE("With equal stages and free messages the bubble of GPipe and 1F1B is (p-1)/(m+p-1) of the step") {
  // Narayanan et al. 2021 (Megatron-LM), section 2.2.1, as a share of the whole step.
  for (const auto order : {toy::gpipe, toy::one_f_one_b})
    for (const int stages : {2, 3, 4, 8})
      for (const int micro_batches : {1, 4, 8}) {
        const Plan plan = toy::pipeline(stages, micro_batches, order);
        const Timeline timeline = toy::schedule(plan, free_messages);
        const Breakdown parts = breakdown(plan, timeline);
        CAPTURE(stages, micro_batches);
        const double share = static_cast<double>(stages - 1) / (micro_batches + stages - 1);
        CHECK(timeline.step_time_s == Approx(3.0 * (micro_batches + stages - 1)));
        CHECK(parts.bubble_s / timeline.step_time_s == Approx(share));
        CHECK(parts.other_s == Approx(0).margin(1e-9));
      }
}

TEST_CASE("Messages between stages that take time are exposed pipeline communication, not bubble") {
  const Plan plan = toy::pipeline(2, 1, toy::gpipe);
  const Timeline timeline =
      toy::schedule(plan, [](Rank r, const Op& op) { return is_communication(op.kind) ? 0.25 : free_messages(r, op); });
  const Breakdown parts = breakdown(plan, timeline);
  // Both stages are idle during the two messages, and while the other one computes (3 s).
  CHECK(timeline.step_time_s == Approx(6.5));
  CHECK(parts.compute_s == Approx(3));
  CHECK(parts.exposed_s.at("pipeline") == Approx(0.5));
  CHECK(parts.bubble_s == Approx(3));
}

TEST_CASE("Communication beside computing is not exposed; what sticks out is, by axis") {
  Plan plan;
  plan.mesh = toy::mesh_of(1, 2, 1);
  plan.program_of = {0, 0};
  Program program;
  const OpId first = toy::add_op(program, toy::compute(OpKind::linear));
  const OpId reduce = toy::add_op(program, toy::collective(OpKind::all_reduce, Axis::data, 1), {first});
  toy::add_op(program, toy::compute(OpKind::linear));
  toy::add_op(program, toy::compute(OpKind::optimizer, Role::update), {reduce});
  plan.programs.push_back(program);
  const double message = 2.5;
  const Timeline timeline =
      toy::schedule(plan, [&](Rank, const Op& op) { return is_communication(op.kind) ? message : 1.0; });
  const Breakdown parts = breakdown(plan, timeline);
  CHECK(parts.compute_s == Approx(3));
  CHECK(parts.exposed_s.at("data") == Approx(message - 1));
  CHECK(parts.exposed_s.size() == 1);
  CHECK(parts.bubble_s == 0);
  CHECK(sum(parts) == Approx(timeline.step_time_s));
}

TEST_CASE("Waiting for a slow member of a tensor group is neither communication nor bubble") {
  Plan plan;
  plan.mesh = toy::mesh_of(2, 1, 1);
  plan.program_of = {0, 0};
  Program program;
  const OpId work = toy::add_op(program, toy::compute(OpKind::linear));
  toy::add_op(program, toy::collective(OpKind::all_reduce, Axis::tensor, 1), {work});
  plan.programs.push_back(program);
  const Timeline timeline = toy::schedule(
      plan, [](Rank rank, const Op& op) { return is_communication(op.kind) ? 0.5 : (rank == 1 ? 3.0 : 1.0); });
  const Breakdown parts = breakdown(plan, timeline);
  CHECK(parts.compute_s == Approx((1.0 + 3.0) / 2));
  CHECK(parts.exposed_s.at("tensor") == Approx(0.5));
  CHECK(parts.other_s == Approx((2.0 + 0.0) / 2));
}

TEST_CASE("The parts of a step are not negative and add up to it, whatever the spans") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> seconds(0, 1);
  for (int round = 0; round < 20; ++round) {
    const Plan plan = toy::pipeline(4, 6, toy::one_f_one_b);
    const Timeline timeline = toy::schedule(plan, [&](Rank, const Op&) { return seconds(random); });
    const Breakdown parts = breakdown(plan, timeline);
    CHECK(relative_error(sum(parts), timeline.step_time_s) < 1e-12);
    CHECK(parts.compute_s > 0);
    CHECK(parts.bubble_s >= 0);
    CHECK(parts.other_s >= 0);
  }
}

TEST_CASE("A folded timeline counts each class by its number of ranks") {
  Plan plan;
  plan.mesh = toy::mesh_of(1, 4, 1);
  plan.program_of = {0, 0, 0, 0};
  Program program;
  toy::add_op(program, toy::compute(OpKind::linear));
  plan.programs.push_back(program);
  Timeline timeline;
  timeline.step_time_s = 2;
  timeline.ranks = {{0, {{0, 2}}}, {3, {{0, 1}}}};
  timeline.timeline_of = {0, 0, 0, 1};
  CHECK(breakdown(plan, timeline).compute_s == Approx((3 * 2.0 + 1 * 1.0) / 4));
}
