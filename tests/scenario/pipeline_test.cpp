// What a scenario says about its pipeline: what is taken, and what is refused with values that would work.
#include "tests/scenario/scenarios.h"

using namespace trainwire;

namespace {

// The toy model has 8 blocks; on 8 devices, two stages leave 4 replicas and 16 micro-batches.
Scenario with(const std::string& pipeline) { return load(toy + "strategy: {pipeline: {" + pipeline + "}}\n"); }
std::string refused(const std::string& pipeline) { return refusal(toy + "strategy: {pipeline: {" + pipeline + "}}\n"); }

}  // namespace

TEST_CASE("schedules, chunks, blocks of each stage and turns are taken") {
  CHECK(with("degree: 2, schedule: zero-bubble").strategy.pipeline.schedule == PipelineSchedule::zero_bubble);
  CHECK(with("degree: 2, schedule: zero-bubble-v").pipeline_shape().chunks == 2);
  CHECK(with("degree: 2, layers: [3, 5]").strategy.pipeline.layers == std::vector<std::int64_t>{3, 5});
  CHECK(with("degree: 4, layers: [0, 4, 4, 0]").strategy.pipeline.layers.size() == 4);
  const Scenario s = with("degree: 2, schedule: interleaved, interleave: 4, layers: [1, 1, 1, 1, 1, 1, 1, 1]");
  CHECK(s.pipeline_shape().stages == 2);
  CHECK(s.pipeline_shape().chunks == 4);
  CHECK(s.pipeline_shape().micro_batches == 16);
  const std::string one = toy_model +
                          "topology: {use: dgx-h100, devices: 2}\ntraining: {global_batch: 1}\n"
                          "strategy: {pipeline: {degree: 2, schedule: explicit, turns: [F0 B0, F0 B0 W0]}}\n";
  const Scenario given = load(one);
  CHECK(given.strategy.pipeline.turns.at(0) == Turns{{TurnKind::forward, 0}, {TurnKind::backward, 0}});
  CHECK(given.strategy.pipeline.turns.at(1).at(1).kind == TurnKind::input_gradient);
}

TEST_CASE("there are at most as many pieces of the model as blocks") {
  CHECK_THAT(refusal(toy_model + "topology: {use: dgx-h100, nodes: 2}\nstrategy: {pipeline: 16}\n"),
             contains("x.yaml:4: strategy.pipeline = 16: is more stages than model") && contains("Try 8 or fewer"));
  CHECK_THAT(refused("degree: 4, schedule: interleaved, interleave: 3"),
             contains("strategy.pipeline.interleave = 3: means 4 stages x 3 chunks, but model") &&
                 contains("has 8 blocks. Try 2 or fewer"));
  CHECK_THAT(refused("degree: 8, schedule: interleaved, interleave: 2"), contains("Try schedule: 1f1b"));
  CHECK(with("degree: 2, schedule: interleaved, interleave: 5").strategy.pipeline.interleave == 5);  // ends without
}

TEST_CASE("chunks belong to the interleaved schedule, and it to chunks") {
  CHECK_THAT(refused("degree: 2, interleave: 2"), contains("interleave = 2") && contains("Try schedule: interleaved"));
  CHECK_THAT(refused("degree: 2, schedule: zero-bubble, interleave: 2"), contains("this schedule runs one"));
  CHECK_THAT(refused("degree: 2, schedule: zero-bubble-v, interleave: 3"), contains("a V has 2. Leave it out"));
  CHECK_THAT(refused("degree: 8, schedule: zero-bubble-v"),
             contains("8 stages x 2 chunks of a V") && contains("Try 5"));
  CHECK_THAT(refused("degree: 2, schedule: interleaved"),
             contains("schedule = interleaved: needs at least 2 chunks a stage") && contains("Try interleave: 2"));
}

TEST_CASE("the interleaved schedule takes micro-batches in groups of the stages") {
  CHECK_THAT(refusal(toy + "strategy: {data: 2, pipeline: {degree: 4, schedule: interleaved, interleave: 2}}\n",
                     {"training.global_batch=36"}),
             contains("training.global_batch = 36: means 18 micro-batches a replica") && contains("groups of the 4") &&
                 contains("Try 32 or 40"));
}

TEST_CASE("the blocks of the stages add up to the model's, and the message has a list that does") {
  CHECK_THAT(
      refused("degree: 2, layers: [3, 4]"),
      contains("strategy.pipeline.layers = [3, 4]: adds up to 7, but model") && contains("has 8 blocks. Try [4, 4]"));
  CHECK_THAT(refused("degree: 2, layers: [8]"),
             contains("has 1 numbers for 2 stages x 1 chunks = 2 pieces of the model. Try [4, 4]"));
  CHECK_THAT(refused("degree: 4, layers: [4, 0, 2, 2]"),
             contains("leaves a piece between the first and the last without blocks. Try [2, 2, 2, 2]"));
}

TEST_CASE("turns that are not a schedule are refused with what is wrong") {
  CHECK_THAT(refused("degree: 2, turns: [F0, F0]"),
             contains("strategy.pipeline.turns: is read with schedule: explicit alone"));
  CHECK_THAT(refused("degree: 2, schedule: explicit"), contains("strategy.pipeline.turns: has 0 lists of turns"));
  CHECK_THAT(refused("degree: 2, schedule: explicit, turns: [F0 X1, F0]"),
             contains("strategy.pipeline.turns") && contains("X1 is not a turn such as F0, B0, W0 or F0.1"));
  CHECK_THAT(refused("degree: 2, schedule: explicit, turns: [F0 B0, F0 B0]"), contains("stage 0 lacks F1"));
  const std::string two = toy_model +
                          "topology: {use: dgx-h100, devices: 2}\ntraining: {global_batch: 2}\n"
                          "strategy: {pipeline: {degree: 2, schedule: explicit, turns: [F0 B0 F1 B1, F0 F1 B0 B1]}}\n";
  CHECK_THAT(refusal(two), contains("strategy.pipeline.turns: cannot finish: stage 0 waits at B0 for stage 1, stage 1 "
                                    "waits at F1 for stage 0"));
}

TEST_CASE("recomputation is a name, or a mapping that chooses blocks") {
  CHECK(load(toy, {"training.recompute=full"}).training.recompute == Recompute::full);
  const Scenario s = load(toy, {"training.recompute={method: selective, every: 2, layers: 3}"});
  CHECK(s.training.recompute == Recompute::selective);
  CHECK(s.training.recompute_every == 2);
  CHECK(s.training.recompute_blocks == 3);
  CHECK_THAT(refusal(toy, {"training.recompute=some"}),
             contains("training.recompute") && contains("must be one of none, selective, full"));
  CHECK_THAT(refusal(toy, {"training.recompute={every: 2}"}),
             contains("training.recompute.every = 2: chooses blocks to recompute, and the method is none"));
  CHECK_THAT(refusal(toy, {"training.recompute={method: selective, segment: 2}"}),
             contains("training.recompute.segment = 2: joins whole blocks"));
  CHECK_THAT(refusal("model: resnet-50\ntopology: dgx-h100\ntraining: {recompute: selective}\n"),
             contains("training.recompute = selective: runs the attention core again") && contains("Try full"));
  CHECK_THAT(refusal(toy, {"training.recompute={method: full, evry: 2}"}), contains("Did you mean every?"));
}
