// Laws of pipeline schedules: complete, free of deadlock, as many micro-batches in flight as is known of each.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "sim/parallel/schedules/schedules.h"
#include "sim/scenario/pieces.h"
#include "tests/scenarios.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

std::vector<Turns> all_turns(const ScheduleRule& rule, const PipelineShape& shape) {
  std::vector<Turns> turns;
  for (int stage = 0; stage < shape.stages; ++stage) turns.push_back(rule.turns(shape, stage));
  return turns;
}

// Every schedule with the shapes that it takes.
template <class Check>
void for_each_shape(const Check& check) {
  for (const ScheduleRule& rule : schedules())
    for (const int stages : {1, 2, 3, 4, 8})
      for (const int chunks : {1, 2, 3})
        for (const int micro_batches : {1, 2, stages, 2 * stages, 3 * stages + 1}) {
          const bool interleaved = rule.kind == PipelineSchedule::interleaved;
          const bool vee = rule.kind == PipelineSchedule::zero_bubble_v && stages > 1;
          if (vee ? chunks != 2 : chunks > 1 && !interleaved) continue;
          if (interleaved && micro_batches % stages != 0) continue;
          const PipelineShape shape{stages, chunks, micro_batches, vee};
          CAPTURE(rule.name, stages, chunks, micro_batches);
          check(rule, shape);
        }
}

// The most passes forward whose backward pass is not done, and those whose input gradient is not.
struct Held {
  int until_all = 0, until_input = 0;
};
Held most_held(const Turns& turns) {
  Held now, most;
  for (const Turn& t : turns) {
    if (t.kind == TurnKind::forward) ++now.until_all, ++now.until_input;
    if (t.kind == TurnKind::backward) --now.until_all, --now.until_input;
    if (t.kind == TurnKind::input_gradient) --now.until_input;
    if (t.kind == TurnKind::weight_gradient) --now.until_all;
    most.until_all = std::max(most.until_all, now.until_all);
    most.until_input = std::max(most.until_input, now.until_input);
  }
  return most;
}

}  // namespace

TEST_CASE("every schedule runs each micro-batch forward and backward once, and finishes", "[pipeline]") {
  for_each_shape([](const ScheduleRule& rule, const PipelineShape& shape) {
    const auto turns = all_turns(rule, shape);
    CHECK(check_complete(turns, shape).empty());
    CHECK(check_progress(turns, shape).empty());
  });
}

TEST_CASE("a stage holds as many activations as its schedule says", "[pipeline]") {
  for_each_shape([](const ScheduleRule& rule, const PipelineShape& shape) {
    for (int stage = 0; stage < shape.stages; ++stage)
      CHECK(most_held(rule.turns(shape, stage)).until_all == rule.in_flight(shape, stage));
  });
}

TEST_CASE("in flight: GPipe m, 1F1B p - stage, ZB-H1 p, ZB-V as much, interleaved Megatron's warm-up and one",
          "[pipeline]") {
  for (const int p : {2, 4, 8})
    for (const int m : {p, 2 * p, 4 * p})
      for (int stage = 0; stage < p; ++stage) {
        CAPTURE(p, m, stage);
        const auto held = [&](PipelineSchedule kind, int v) {
          const PipelineShape shape{p, v, m, kind == PipelineSchedule::zero_bubble_v};
          return most_held(find_schedule(kind)->turns(shape, stage));
        };
        if (m >= 2 * p - 1) CHECK(held(PipelineSchedule::zero_bubble_v, 2).until_all == 2 * p);  // of half a stage
        CHECK(held(PipelineSchedule::gpipe, 1).until_all == m);
        CHECK(held(PipelineSchedule::one_f_one_b, 1).until_all == p - stage);
        CHECK(held(PipelineSchedule::zero_bubble, 1).until_all == p);
        CHECK(held(PipelineSchedule::zero_bubble, 1).until_input == p - stage);
        for (const int v : {2, 3})  // Narayanan et al. 2021: on the first stage (1 + (p-1)/(p·v)) times 1F1B's
          CHECK(held(PipelineSchedule::interleaved, v).until_all ==
                std::min(m * v, 2 * (p - 1 - stage) + (v - 1) * p + 1));
      }
}

TEST_CASE("turns are read as they are written", "[pipeline]") {
  std::string problem;
  const Turns turns = read_turns("F0 F1.1  F2\nB0 W0 B2 B1.1", problem);
  CHECK(problem.empty());
  CHECK(turns == Turns{{TurnKind::forward, 0},
                       {TurnKind::forward, 1, 1},
                       {TurnKind::forward, 2},
                       {TurnKind::input_gradient, 0},
                       {TurnKind::weight_gradient, 0},
                       {TurnKind::backward, 2},
                       {TurnKind::backward, 1, 1}});
  CHECK(to_text(turns[1]) == "F1.1");
  for (const std::string bad : {"X0", "F", "F-1", "F1.", "F1.x", "F1,", "0", "F99999999999999999999"}) {
    CAPTURE(bad);
    problem.clear();
    CHECK(read_turns("F0 " + bad, problem).empty());
    CHECK_THAT(problem, contains(bad));
  }
}

TEST_CASE("turns that are incomplete or cannot finish say where", "[pipeline]") {
  std::string problem;
  const auto both = [&](const char* first, const char* second) {
    return std::vector<Turns>{read_turns(first, problem), read_turns(second, problem)};
  };
  const PipelineShape two{2, 1, 2};
  CHECK_THAT(check_complete(both("F0 B0 F1 B1", "F0 B0"), two), contains("stage 1 lacks F1"));
  CHECK_THAT(check_complete(both("F0 B0 F1 B1", "F0 B0 F1"), two), contains("stage 1 lacks B1"));
  CHECK_THAT(check_complete(both("B0 F0 F1 B1", ""), two), contains("B0 of stage 0 comes too early"));
  CHECK_THAT(check_complete(both("F0 F0 F1 B1", ""), two), contains("F0 of stage 0 comes too early or twice"));
  CHECK_THAT(check_complete(both("F0 F2", ""), two), contains("there are 2 micro-batches"));
  CHECK_THAT(check_complete(both("F0.1", ""), two), contains("a stage has 1 chunks"));
  CHECK_THAT(check_complete({{}}, two), contains("1 lists of turns for 2 stages"));
  CHECK_THAT(check_progress(both("F0 B0 F1 B1", "F0 F1 B0 B1"), two),
             contains("stage 0 waits at B0 for stage 1, stage 1 waits at F1 for stage 0"));
  // Stages that take micro-batches in different orders receive in the order of the sends.
  const auto crossed = both("F0 F1 B0 B1", "F1 F0 B0 B1");
  CHECK(check_progress(crossed, two).empty());
  CHECK(receive_order(crossed, two) == std::vector<std::vector<std::size_t>>{{2, 3}, {1, 0}});
}

TEST_CASE("the blocks of each stage are as the scenario says", "[pipeline]") {
  const auto blocks = [](const Plan& plan, std::size_t program) {
    std::set<int> layers;
    for (const Op& op : plan.programs[program].ops)
      if (op.kind == OpKind::attention) layers.insert(op.layer - 1);
    return layers;
  };
  Scenario s = make_scenario(tiny_gpt(), {1, 1, 2});
  s.strategy.pipeline.layers = {1, 3};
  const Plan uneven = build_plan(s);
  CHECK(blocks(uneven, 0) == std::set<int>{0});
  CHECK(blocks(uneven, 1) == std::set<int>{1, 2, 3});
  s.strategy.pipeline.layers = {};
  s.strategy.pipeline.schedule = PipelineSchedule::interleaved;
  s.strategy.pipeline.interleave = 2;
  const Plan dealt = build_plan(s);
  CHECK(blocks(dealt, 0) == std::set<int>{0, 2});
  CHECK(blocks(dealt, 1) == std::set<int>{1, 3});
}

TEST_CASE("the pieces of a V lie on the stages forth and back", "[pipeline]") {
  const PipelineShape vee{4, 2, 1, true};
  for (int piece = 0; piece < vee.pieces(); ++piece) {
    CHECK(vee.stage_of(piece) == (piece < 4 ? piece : 7 - piece));
    CHECK(vee.piece_of(vee.stage_of(piece), vee.chunk_of(piece)) == piece);
  }
  Scenario s = make_scenario(tiny_gpt(), {1, 1, 2});
  s.strategy.pipeline.schedule = PipelineSchedule::zero_bubble_v;
  const Plan plan = build_plan(s);
  int losses = 0;
  for (const Op& op : plan.programs[0].ops) losses += op.kind == OpKind::cross_entropy && op.role == Role::forward;
  CHECK(losses == s.micro_batches());
  // The tied embedding lies on one stage, and the turn of the V sends nothing.
  for (const Program& p : plan.programs)
    for (const Op& op : p.ops)
      if (op.kind == OpKind::send) CHECK(op.micro_batch >= 0);
}

TEST_CASE("v chunks a stage send v·p - 1 times what two stages send", "[pipeline]") {
  for (const int stages : {2, 4}) {
    Scenario s = make_scenario(tiny_llama(), {1, 1, stages});
    s.strategy.pipeline.schedule = PipelineSchedule::interleaved;
    s.strategy.pipeline.interleave = 4 / stages;
    const Plan plan = build_plan(s);
    double sent = 0;
    for (const Program& p : plan.programs)
      for (const Op& op : p.ops)
        if (op.kind == OpKind::send) sent += p.communication_bytes(op);
    const double hidden = static_cast<double>(s.training.micro_batch * s.training.sequence) * 32 * 4;
    CHECK(sent == 2 * (4 - 1) * static_cast<double>(s.micro_batches()) * hidden);
  }
}

// Of all operations the split schedules run each as often as 1F1B does, weight gradients in turns of their own.
TEST_CASE("splitting the backward pass changes the order of a plan's operations and nothing else", "[pipeline]") {
  const auto counts = [](PipelineSchedule kind) {
    Scenario s = make_scenario(tiny_gpt(), {2, 2, 2});
    s.strategy.pipeline.schedule = kind;
    std::map<std::string, int> found;
    for (const Program& p : build_plan(s).programs)
      for (const Op& op : p.ops) ++found[p.role + op_name(p, op)];
    return found;
  };
  CHECK(counts(PipelineSchedule::zero_bubble) == counts(PipelineSchedule::one_f_one_b));
}

TEST_CASE("blocks that do not divide spare the stages with the embedding and the loss", "[pipeline]") {
  using Blocks = std::vector<std::int64_t>;
  CHECK(even_blocks({1, 1, 1}, 5) == Blocks{5});
  CHECK(even_blocks({4, 1, 1}, 8) == Blocks{2, 2, 2, 2});
  CHECK(even_blocks({4, 1, 1}, 42) == Blocks{10, 11, 11, 10});
  // Grattafiori et al. 2024, section 3.3.2: 126 layers, one less on the first and the last of 16 stages.
  CHECK(even_blocks({16, 1, 1}, 126) == Blocks{7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7});
  // Two chunks more than blocks: the ends of the model have none.
  CHECK(even_blocks({2, 3, 1}, 4) == Blocks{0, 1, 1, 1, 1, 0});
  CHECK(even_blocks({16, 8, 1}, 126).front() == 0);
  CHECK(even_blocks({16, 8, 1}, 126).back() == 0);
  // In a V the first stage has both ends of the model.
  CHECK(even_blocks({4, 2, 1, true}, 14) == Blocks{1, 2, 2, 2, 2, 2, 2, 1});
  for (const int stages : {2, 3, 16})
    for (const int chunks : {1, 2, 7})
      for (const std::int64_t blocks : {stages * chunks, stages * chunks + 5, 126}) {
        if (blocks < stages * chunks) continue;
        const Blocks pieces = even_blocks({stages, chunks, 1}, blocks);
        Blocks of_stage(static_cast<std::size_t>(stages), 0);
        for (std::size_t c = 0; c < pieces.size(); ++c) of_stage[c % of_stage.size()] += pieces[c];
        CAPTURE(stages, chunks, blocks);
        CHECK(std::accumulate(pieces.begin(), pieces.end(), std::int64_t{0}) == blocks);
        const auto [least, most] = std::minmax_element(of_stage.begin(), of_stage.end());
        CHECK(*most - *least <= 2);
      }
}
