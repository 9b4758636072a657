// Laws of loading scenarios that are sound.
#include <algorithm>

#include "sim/config/data_dir.h"
#include "tests/scenario/scenarios.h"

using namespace trainwire;

TEST_CASE("what a file leaves out has the default of the format") {
  const Scenario s = load(toy_model + "topology: dgx-h100\n");
  CHECK(s.name == "x");
  CHECK(s.training.sequence == 128);  // no longer than the positions that the model learns
  CHECK(s.training.micro_batch == 1);
  CHECK(s.training.global_batch == 64);
  CHECK(s.training.precision == Precision::bf16);
  CHECK(s.training.optimizer == OptimizerKind::adamw);
  CHECK(s.training.grad_dtype == DType::fp32);
  CHECK(s.strategy.data.degree == 8);
  CHECK(s.strategy.data.bucket.value == 25.0 * 1024 * 1024);
  CHECK(s.strategy.data.overlap);
  CHECK_FALSE(s.strategy.tensor.sequence_parallel);
  CHECK(s.strategy.tensor.degree == 1);
  CHECK(s.strategy.pipeline.degree == 1);
  CHECK(s.strategy.pipeline.schedule == PipelineSchedule::one_f_one_b);
}

TEST_CASE("everything that a file may say is taken") {
  const Scenario s =
      load("name: All\nquestion: Why?\n" + toy_model +
           "topology: {use: dgx-h100, nodes: 2}\n"
           "training: {sequence: 64, micro_batch: 2, global_batch: 32, precision: fp16, optimizer: momentum, "
           "recompute: none,\n"
           "           grad_dtype: bf16, learning_rate: 0.5, steps: 7, seed: 9}\n"
           "strategy:\n  data: {degree: 2, sharding: none, bucket: 1 MiB, overlap: false}\n"
           "  tensor: {degree: 4, sequence_parallel: false}\n  pipeline: {degree: 2, schedule: gpipe, interleave: 1}\n"
           "  context: {degree: 1, method: ulysses}\n  expert: {degree: 1}\n"
           "  order: [pipeline, tensor, context, expert, data]\ndisturbances: []\nplacement: linear\n");
  CHECK(s.name == "All");
  CHECK(s.question == "Why?");
  CHECK(s.training.sequence == 64);
  CHECK(s.training.precision == Precision::fp16);
  CHECK(s.training.optimizer == OptimizerKind::momentum);
  CHECK(s.training.grad_dtype == DType::bf16);
  CHECK(s.training.learning_rate == 0.5);
  CHECK(s.training.steps == 7);
  CHECK(s.training.seed == 9);
  CHECK(s.strategy.data.bucket.value == 1024.0 * 1024);
  CHECK_FALSE(s.strategy.data.overlap);
  CHECK(s.strategy.pipeline.schedule == PipelineSchedule::gpipe);
  CHECK(s.strategy.context.method == ContextMethod::ulysses);
  CHECK(s.mesh.order()[0] == Axis::pipeline);
  CHECK(s.world_size() == 16);
  CHECK(s.micro_batches() == 32 / (2 * 2));
}

TEST_CASE("a bare number is short for a degree, and auto on any one axis fills up the world") {
  for (const std::string strategy : {"{tensor: 2, pipeline: 2, data: 2}", "{tensor: 2, pipeline: 2, data: auto}",
                                     "{tensor: auto, pipeline: 2, data: 2}",
                                     "{tensor: 2, pipeline: {degree: auto}, data: 2}", "{tensor: 2, pipeline: 2}"}) {
    CAPTURE(strategy);
    const Scenario s = load(toy + "strategy: " + strategy + "\n");
    CHECK(s.mesh.degree(Axis::tensor) == 2);
    CHECK(s.mesh.degree(Axis::pipeline) == 2);
    CHECK(s.mesh.degree(Axis::data) == 2);
    CHECK(s.world_size() == 8);
  }
}

TEST_CASE("--set says the same as the file") {
  const Scenario s = load(toy, {"strategy.tensor=2", "training.global_batch=16", "topology.nodes=2"});
  CHECK(s.strategy.tensor.degree == 2);
  CHECK(s.training.global_batch == 16);
  CHECK(s.world_size() == 16);
  CHECK(s.strategy.data.degree == 8);
}

TEST_CASE("--set of an axis changes its degree and nothing else of it") {
  const std::string text = toy + "strategy: {data: {degree: 8, bucket: 1 MiB}, pipeline: 1}\n";
  const Scenario s = load(text, {"strategy.data=4", "strategy.pipeline.degree=2", "strategy.pipeline.schedule=gpipe"});
  CHECK(s.strategy.data.degree == 4);
  CHECK(s.strategy.data.bucket.value == 1024.0 * 1024);
  CHECK(s.strategy.pipeline.degree == 2);
  CHECK(s.strategy.pipeline.schedule == PipelineSchedule::gpipe);
}

TEST_CASE("a model named in the file can be changed by key") {
  const std::string text = "model: gpt2-124m\ntopology: dgx-h100\ntraining: {sequence: 1024}\nstrategy: {tensor: 2}\n";
  CHECK(load(text, {"model.vocab=50304"}).model.transformer.vocab == 50304);
}

TEST_CASE("a scenario may include another, and all files that were read are known") {
  const TestFolder folder("inputs");
  folder.write("base.yaml", toy);
  const auto file = folder.write("top.yaml", "include: base.yaml\nname: top\ntraining: {global_batch: 32}\n");
  const Scenario s = load_scenario(file);
  CHECK(s.training.global_batch == 32);
  CHECK(s.training.sequence == 128);
  const auto read = [&](const std::string& name) {
    return std::any_of(s.inputs.begin(), s.inputs.end(), [&](const auto& input) { return input.filename() == name; });
  };
  CHECK(read("base.yaml"));
  CHECK(read("top.yaml"));
}

TEST_CASE("images have the model's own size unless the file says otherwise") {
  CHECK(load("model: resnet-50\ntopology: dgx-h100\n").training.sequence == 224);
  CHECK(load("model: resnet-50\ntopology: dgx-h100\ntraining: {sequence: 160}\n").training.sequence == 160);
}

TEST_CASE("placement puts each rank on the device that the list names") {
  const Scenario s = load(toy + "placement: [7, 6, 5, 4, 3, 2, 1, 0]\n");
  for (int rank = 0; rank < 8; ++rank) CHECK(s.placement[static_cast<std::size_t>(rank)] == 7 - rank);
}

TEST_CASE("a name alone is a scenario that ships") { CHECK(load_scenario("llama-3-8b-dgx-h100").world_size() == 16); }

TEST_CASE("every scenario that ships loads and says what question it answers") {
  int count = 0;
  for (const std::string& name : names_in("scenarios", {".yaml"})) {
    CAPTURE(name);
    try {
      const Scenario s = load_scenario(data_dir() / "scenarios" / (name + ".yaml"));
      CHECK_FALSE(s.question.empty());
      CHECK(s.world_size() == static_cast<int>(s.topology.devices.size()));
      ++count;
    } catch (const ConfigError& e) {
      // The machine file is what `calibrate` writes: absent in a fresh tree.
      CHECK_THAT(e.what(), contains("trainwire calibrate"));
    }
  }
  CHECK(count >= 8);
}
