// A plan is right when training with it gives what one rank gives: for every strategy and combination the losses of
// three steps and the updated parameters equal those of the plan for one rank.
#include "tests/cpu/ranks/equal.h"

#include "backend/cpu/runtime.h"

using namespace trainwire;
using namespace trainwire::test;
using namespace trainwire::testing;

namespace {

// Adam divides a gradient by its own size: an element whose gradient is nothing but rounding moves by up to the
// learning rate in either direction. A small rate keeps that under the tolerance.
constexpr double adam_rate = 1e-4;

const std::vector<Degrees> every_combination{{2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {4, 1, 1}, {1, 4, 1}, {1, 1, 4},
                                             {2, 2, 1}, {2, 1, 2}, {1, 2, 2}, {8, 1, 1}, {2, 2, 2}, {4, 2, 1},
                                             {2, 4, 1}, {1, 4, 2}, {1, 2, 4}, {2, 1, 4}, {4, 1, 2}};
const std::vector<Degrees> some_combinations{{2, 1, 1}, {1, 1, 2}, {2, 2, 2}};
const std::vector<Degrees> no_tensor{{2, 1, 1}, {1, 1, 2}, {4, 1, 1}, {2, 1, 2}, {8, 1, 1}, {2, 1, 4}};

const Variant plain{"1f1b", [](Scenario&) {}};

}  // namespace

TEST_CASE("a GPT trains alike on one rank and on any combination of data, tensor and pipeline ranks") {
  check_equal(tiny_gpt(), every_combination, plain);
}

TEST_CASE("a Llama trains alike on one rank and on any combination of data, tensor and pipeline ranks") {
  check_equal(tiny_llama(), every_combination, plain);
}

TEST_CASE("a perceptron trains alike on one rank and on any combination of data, tensor and pipeline ranks") {
  std::vector<Degrees> combinations;  // three layers to cut: no four stages
  for (const Degrees d : every_combination)
    if (d.pipeline <= 2) combinations.push_back(d);
  check_equal(tiny_mlp(), combinations, plain);
}

TEST_CASE("a ResNet trains alike on one rank and on data and pipeline ranks") {
  // Batch norm over a handful of values divides by a chance sigma and magnifies rounding: enough pixels and images.
  const Variant calm{"micro-batches of 4", [](Scenario& s) {
                       s.training.micro_batch = 4;
                       s.training.learning_rate = 0.01;
                     }};
  check_equal("{family: cnn, blocks: [1, 1, 1, 1], bottleneck: false, width: 8, classes: 8, image: 64, source: test}",
              no_tensor, calm, 32);
}

TEST_CASE("GPipe trains like one rank") {
  const Variant gpipe{"gpipe", [](Scenario& s) { s.strategy.pipeline.schedule = PipelineSchedule::gpipe; }};
  check_equal(tiny_gpt(), {{1, 1, 2}, {2, 1, 2}, {1, 2, 2}, {2, 2, 2}, {1, 1, 4}, {2, 1, 4}}, gpipe);
}

TEST_CASE("the size of the gradient buckets changes nothing, nor does overlap") {
  for (const Variant& variant :
       {Variant{"one gradient a bucket", [](Scenario& s) { s.strategy.data.bucket = Bytes(1); }},
        Variant{"4 KiB", [](Scenario& s) { s.strategy.data.bucket = Bytes(4096); }},
        Variant{"no overlap", [](Scenario& s) { s.strategy.data.overlap = false; }}})
    check_equal(tiny_gpt(), {{2, 1, 1}, {4, 1, 1}, {2, 2, 2}}, variant);
}

TEST_CASE("more micro-batches a step, or larger ones, train alike on all ranks") {
  const Variant larger{"micro-batches of 4", [](Scenario& s) { s.training.micro_batch = 4; }};
  check_equal(tiny_gpt(), some_combinations, plain, 32);
  check_equal(tiny_llama(), some_combinations, larger, 32);
}

TEST_CASE("every optimizer trains alike on one rank and on eight") {
  for (const Variant& variant : {Variant{"sgd", [](Scenario& s) { s.training.optimizer = OptimizerKind::sgd; }},
                                 Variant{"adam",
                                         [](Scenario& s) {
                                           s.training.optimizer = OptimizerKind::adam;
                                           s.training.learning_rate = adam_rate;
                                         }},
                                 Variant{"adamw", [](Scenario& s) {
                                           s.training.optimizer = OptimizerKind::adamw;
                                           s.training.learning_rate = adam_rate;
                                         }}})
    check_equal(tiny_llama(), some_combinations, variant);
}

TEST_CASE("the loss falls") {
  if (world_rank() != 0) return;
  for (const std::string& model : {tiny_gpt(), tiny_llama(), tiny_mlp(), tiny_resnet()}) {
    CAPTURE(model);
    Scenario s = make_scenario(model, {});
    s.training.learning_rate = 1e-2;
    cpu::ExecuteOptions options;
    options.steps = 30;
    options.warmup = 0;
    const std::vector<double> loss = cpu::execute_on(MPI_COMM_NULL, s, build_plan(s), options).timeline.loss;
    CHECK(loss.back() < 0.8 * loss.front());
  }
}
