// Every kind of bad scenario is refused with its line, its key and its value, and what would work.
#include "tests/scenario/scenarios.h"

using namespace trainwire;

namespace {

struct Row {
  std::string text;                   // appended to the toy scenario (4 lines)
  std::vector<std::string> expected;  // pieces of the message
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const std::string message = refusal(toy + row.text + "\n");
    CAPTURE(row.text, message);
    for (const std::string& piece : row.expected) CHECK_THAT(message, contains(piece));
  }
}

}  // namespace

TEST_CASE("unknown keys are refused in every section with the nearest known one") {
  check({{"nmae: x", {"x.yaml:5: nmae = x: is not a known key. Did you mean name?"}},
         {"strategy: {tensr: 2}", {"x.yaml:5: strategy.tensr = 2: is not a known key. Did you mean tensor?"}},
         {"strategy:\n  data: {buckt: 1 MiB}", {"x.yaml:6: strategy.data.buckt", "Did you mean bucket?"}},
         {"strategy: {context: {methd: ring}}", {"strategy.context.methd", "Did you mean method?"}}});
  const std::string training = toy_model + "topology: dgx-h100\ntraining:\n  sequnce: 128\n";
  CHECK_THAT(refusal(training),
             contains("x.yaml:5: training.sequnce = 128: is not a known key. Did you mean sequence?"));
}

TEST_CASE("wrong types are refused") {
  check({{"strategy: 8", {"x.yaml:5: strategy = 8: must be a mapping"}},
         {"strategy: [1]", {"strategy = [1]: must be a mapping"}},
         {"strategy: {tensor: two}", {"strategy.tensor.degree = two: must be a whole number"}},
         {"strategy: {tensor: 1.5}", {"strategy.tensor.degree = 1.5"}},
         {"strategy: {data: {overlap: 1}}", {"strategy.data.overlap = 1: must be true or false"}},
         {"strategy: {data: {bucket: 25}}", {"strategy.data.bucket = 25: has no unit. Example: 25 MiB."}},
         {"strategy: {data: {bucket: -1 MiB}}", {"must be more than zero"}},
         {"disturbances: 3", {"disturbances = 3: must be a list"}},
         {"name: [a]", {"name = [a]: must be a text"}}});
  CHECK_THAT(refusal(toy_model + "topology: dgx-h100\ntraining: none\n"),
             contains("training = none: must be a mapping"));
}

TEST_CASE("sizes must be positive") {
  for (const std::string size : {"0", "-8"}) {
    for (const std::string key : {"sequence", "micro_batch", "global_batch", "steps"}) {
      const std::string message = refusal(toy, {"training." + key + "=" + size});
      CHECK_THAT(message, contains("--set: training." + key + " = " + size + ": must be a whole number from 1 to"));
    }
    CHECK_THAT(refusal(toy, {"strategy.tensor=" + size}), contains("strategy.tensor.degree = " + size));
  }
}

TEST_CASE("a scenario without model or topology is refused with the names that there are") {
  const std::string message = refusal("name: x\n");
  CHECK_THAT(message, contains("x.yaml:1: model: is missing. Known: ") && contains("llama-3-8b"));
  CHECK_THAT(message, contains("x.yaml:1: topology: is missing. Known: ") && contains("dgx-h100"));
  CHECK_THAT(refusal(""), contains("x.yaml:1: is empty"));
  CHECK_THAT(refusal("- a\n"), contains("a scenario is a mapping"));
}

TEST_CASE("names that are not there come with near ones") {
  CHECK_THAT(refusal("model: llama3-8b\ntopology: dgx-h100\n"),
             contains("x.yaml:1: model = llama3-8b") && contains("llama-3-8b"));
  CHECK_THAT(refusal("model: gpt2-124m\ntopology: dgx-h10\n"),
             contains("x.yaml:2: topology = dgx-h10") && contains("dgx-h100"));
  CHECK_THROWS_WITH(load_scenario("lama-3-8b-dgx-h100"), contains("Did you mean llama-3-8b-dgx-h100"));
  CHECK_THROWS_WITH(load_scenario("nowhere/none.yaml"), contains("nowhere/none.yaml: there is no such file"));
}

TEST_CASE("degrees must multiply to the number of devices, and the message has a degree that does") {
  check({{"strategy: {data: 3}",
          {"x.yaml:5: strategy = data 3", "multiply to 3, but topology", "has 8 devices", "Try strategy.data = 8"}},
         {"strategy: {tensor: 2, data: 8}", {"multiply to 16", "has 8 devices", "Try strategy.data = 4"}},
         {"strategy: {tensor: 3}", {"the 8 devices", "in groups of 3"}},
         {"strategy: {tensor: 1000000, pipeline: 1000000, data: 1000000}", {"has 8 devices"}},
         {"strategy: {tensor: auto, data: auto}",
          {"strategy.data.degree = auto: only one degree may be auto, and tensor is already"}}});
}

TEST_CASE("tensor parallelism must divide the model, and the message has degrees that do") {
  CHECK_THAT(
      refusal("model: llama-3-8b\ntopology: {use: dgx-h100, nodes: 3}\ntraining: {global_batch: 2}\n\nstrategy:\n  "
              "tensor: 12\n"),
      contains(
          "x.yaml:6: strategy.tensor = 12: must divide heads = 32 and kv_heads = 8 and ffn_hidden = 14336 of model") &&
          contains("Try 8."));
  CHECK_THAT(refusal("model: gpt2-124m\ntopology: dgx-h100\ntraining: {sequence: 1024}\nstrategy: {tensor: 2}\n"),
             contains("strategy.tensor = 2: must divide vocab = 50257") && contains("vocab: 50304"));
  CHECK_THAT(refusal("model: resnet-50\ntopology: dgx-h100\nstrategy: {tensor: 2}\n"),
             contains("strategy.tensor = 2: is not supported for convolutional nets"));
}

TEST_CASE("a step's batch must divide among micro-batches and replicas") {
  CHECK_THAT(
      refusal(toy, {"training.global_batch=60"}),
      contains("training.global_batch = 60: must be a multiple of micro_batch x data = 1 x 8 = 8. Try 56 or 64."));
  CHECK_THAT(refusal(toy, {"training.global_batch=4"}), contains("Try 8."));
  CHECK_THAT(refusal(toy_model + "topology: dgx-h100\ntraining: {micro_batch: 3}\n"),
             contains("training.global_batch = 64 (the default)") && contains("3 x 8 = 24"));
  CHECK_THAT(refusal(toy, {"training.global_batch=800000000"}), contains("micro-batches a replica, more than"));
}

TEST_CASE("sequences are no longer than the positions that a model learns") {
  CHECK_THAT(refusal(toy, {"training.sequence=256"}),
             contains("training.sequence = 256: is longer than the 128 positions"));
}

TEST_CASE("the order lists every axis once") {
  check({{"strategy: {order: [tensor, data]}", {"x.yaml:5: strategy.order", "must list each of the five axes once"}},
         {"strategy: {order: [tensor, tensor, expert, data, pipeline]}", {"must list each of the five axes once"}},
         {"strategy: {order: [tensr, context, expert, data, pipeline]}", {"tensr is not an axis", "tensor"}},
         {"strategy: {order: tensor}", {"strategy.order = tensor: must be a list"}}});
}

TEST_CASE("what comes later is refused by name") {
  check({{"disturbances: [{slow: gpu3}]", {"x.yaml:5: disturbances[0]: names no disturbance"}}});
  CHECK_THAT(refusal(toy, {"training.precision=fp8"}), contains("training.precision = fp8: is not supported yet"));
}

TEST_CASE("sequences, heads and experts that do not divide are refused with both numbers and what would work") {
  const std::string experts =
      "model: {family: transformer, layers: 2, hidden: 64, heads: 4, vocab: 512, max_sequence: 128, source: test,\n"
      "        experts: {count: 6, per_token: 2, hidden: 64}}\n"
      "topology: dgx-h100\ntraining: {sequence: 128, global_batch: 64}\n";
  CHECK_THAT(refusal(toy, {"strategy.tensor=2", "strategy.tensor.sequence_parallel=true", "training.sequence=127"}),
             contains("training.sequence = 127: must be a multiple of tensor = 2") && contains("Try 126 or 128"));
  CHECK_THAT(refusal(toy, {"strategy.context=4", "training.sequence=100"}),
             contains("must be a multiple of 8 for context = 4") && contains("Try 96 or 104"));
  CHECK_THAT(refusal(toy, {"strategy.context=8", "strategy.context.method=ulysses"}),
             contains("kv_heads = 4 over tensor = 1 leaves 4. Try 4, or method: ring"));
  CHECK_THAT(refusal(toy, {"strategy.context=2", "training.recompute=selective"}),
             contains("training.recompute = selective: makes the result of attention again"));
  CHECK_THAT(refusal("model: resnet-50\ntopology: dgx-h100\n", {"strategy.context=2"}),
             contains("ring shares out the tokens of sequences, and resnet-50 is a vision model without any"));
  CHECK_THAT(refusal(toy, {"strategy.expert=2"}), contains("strategy.expert = 2: shares out experts, and model"));
  CHECK_THAT(refusal(experts, {"strategy.expert=4"}), contains("must divide the 6 experts") && contains("Try 3 or 6"));
  CHECK_THAT(refusal(experts, {"strategy.expert.imbalance=4"}), contains("at least 1, and at most 3"));
  CHECK(refusal(experts, {"strategy.expert=2", "strategy.context=2", "strategy.expert.imbalance=1.5"}).empty());
}

TEST_CASE("keys of the data axis that do not go with its sharding are refused with those that do") {
  check({{"strategy: {data: {sharding: zero4}}", {"must be one of none, zero1, zero2, zero3, fsdp, hsdp"}},
         {"strategy: {data: {sharding: zero2, prefetch: 2}}",
          {"strategy.data.prefetch = 2: has a meaning only where parameters are sharded", "zero3, fsdp or hsdp"}},
         {"strategy: {data: {reshard_after_forward: false}}",
          {"strategy.data.reshard_after_forward = false: has a meaning only where parameters are sharded"}},
         {"strategy: {data: {sharding: zero2, no_sync: true}}",
          {"strategy.data.no_sync = true: would keep whole gradients", "zero1 or fsdp"}},
         {"strategy: {data: {no_sync: false}}", {"strategy.data.no_sync = false: is not supported without", "zero2"}},
         {"strategy: {data: {sharding: fsdp, shard: 4}}",
          {"strategy.data.shard = 4: is the size of hsdp's groups and has no meaning here"}},
         {"strategy: {data: {sharding: hsdp, shard: 3}}",
          {"strategy.data.shard = 3: must divide the data degree 8. Try 2 or 4"}}});
}

TEST_CASE("hybrid sharding shares parameters out within a node, or as the scenario says") {
  const std::string two_nodes =
      toy_model + "topology: {use: dgx-h100, nodes: 2}\ntraining: {sequence: 128, global_batch: 64}\n";
  const auto mesh = [&](const std::string& strategy) { return load(two_nodes + strategy).mesh; };
  const DeviceMesh plain = mesh("strategy: {data: {sharding: hsdp}}"),
                   tensor = mesh("strategy: {tensor: 2, data: {sharding: hsdp}}"),
                   given = mesh("strategy: {data: {sharding: hsdp, shard: 4}}");
  CHECK(plain.degree(Axis::data) == 8);
  CHECK(plain.degree(Axis::replica) == 2);
  CHECK(tensor.degree(Axis::data) == 4);
  CHECK(tensor.degree(Axis::replica) == 2);
  CHECK(given.degree(Axis::data) == 4);
  CHECK(given.degree(Axis::replica) == 4);
  CHECK(given.size() == 16);
}

TEST_CASE("a choice that does not exist is refused with those that do") {
  check({{"strategy: {pipeline: {schedule: gpip}}",
          {"must be one of gpipe, 1f1b, interleaved, zero-bubble, zero-bubble-v, explicit. Did you mean gpipe?"}}});
  CHECK_THAT(refusal(toy, {"training.optimizer=adan"}),
             contains("must be one of sgd, momentum, adam, adamw. Did you mean adam"));
}

TEST_CASE("a precision that the device cannot multiply in is refused") {
  CHECK_THAT(refusal("model: resnet-50\ntopology: dgx-1v\ntraining: {precision: bf16}\n"),
             contains("training.precision = bf16: device") && contains("Try fp32 or fp16"));
}

TEST_CASE("a placement names each device once") {
  check({{"placement: [0, 1]", {"placement = [0, 1]", "the devices 0 to 7 once"}},
         {"placement: [0, 0, 1, 2, 3, 4, 5, 6]", {"the devices 0 to 7 once"}},
         {"placement: [0, 1, 2, 3, 4, 5, 6, 8]", {"the devices 0 to 7 once"}},
         {"placement: random", {"must be linear"}}});
}

TEST_CASE("all problems of a file are told at once") {
  const std::string message = refusal(
      "nmae: x\nmodel: gpt3\ntopology: dgx-h10\ntraining: {precision: fp9, steps: 0}\nstrategy: {tensor: -1, order: "
      "[a]}\n");
  for (const std::string line :
       {"x.yaml:1: nmae", "x.yaml:2: model", "x.yaml:3: topology", "x.yaml:4: training.precision",
        "x.yaml:4: training.steps", "x.yaml:5: strategy.tensor", "x.yaml:5: strategy.order"}) {
    CHECK_THAT(message, contains(line));
  }
}
