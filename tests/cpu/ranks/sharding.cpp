// Whatever the replicas share out, training is that of one rank: alone, and with tensor and pipeline ranks.
#include "tests/combinations.h"
#include "tests/cpu/ranks/equal.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

const std::vector<Degrees> alone{{2, 1, 1}, {4, 1, 1}, {8, 1, 1}};
const std::vector<Degrees> mixed{{2, 2, 1}, {2, 1, 2}, {2, 2, 2}, {4, 2, 1}, {4, 1, 2}, {2, 1, 4}};
const std::vector<Degrees> some{{4, 1, 1}, {2, 2, 2}};

const std::vector<Variant> shardings{{"zero1", shard<Sharding::zero1>},
                                     {"zero2", shard<Sharding::zero2>},
                                     {"zero3", shard<Sharding::zero3>},
                                     {"fsdp", shard<Sharding::fsdp>},
                                     {"hsdp", shard_in_halves}};

}  // namespace

TEST_CASE("ZeRO, FSDP and hybrid sharding train like one rank") {
  for (const Variant& sharding : shardings) {
    check_equal(tiny_gpt(), alone, sharding);
    check_equal(tiny_llama(), {{2, 1, 1}, {8, 1, 1}}, sharding);
  }
}

TEST_CASE("ZeRO, FSDP and hybrid sharding train like one rank beside tensor and pipeline ranks") {
  for (const Variant& sharding : shardings) {
    check_equal(tiny_gpt(), mixed, sharding);  // tied embeddings
    check_equal(tiny_llama(), {{2, 2, 2}, {4, 1, 2}}, sharding);
  }
}

TEST_CASE("sharded perceptrons and ResNets train like one rank: their parameters do not divide evenly") {
  for (const Variant& sharding : shardings) check_equal(tiny_mlp(), {{8, 1, 1}, {2, 2, 2}}, sharding);
  const Variant calm{"fsdp, micro-batches of 4", [](Scenario& s) {
                       shard<Sharding::fsdp>(s);
                       s.training.micro_batch = 4;
                       s.training.learning_rate = 0.01;
                     }};
  check_equal("{family: cnn, blocks: [1, 1, 1, 1], bottleneck: false, width: 8, classes: 8, image: 64, source: test}",
              {{4, 1, 1}, {2, 1, 2}}, calm, 32);
}

TEST_CASE("how sharded parameters and gradients travel changes nothing") {
  const std::vector<Variant> variants{
      {"no prefetch", [](Scenario& s) { shard<Sharding::fsdp>(s), s.strategy.data.prefetch = 0; }},
      {"3 units ahead", [](Scenario& s) { shard<Sharding::zero3>(s), s.strategy.data.prefetch = 3; }},
      {"kept after forward",
       [](Scenario& s) { shard<Sharding::fsdp>(s), s.strategy.data.reshard_after_forward = false; }},
      {"dropped after forward",
       [](Scenario& s) { shard<Sharding::fsdp>(s), s.strategy.data.reshard_after_forward = true; }},
      {"no_sync", [](Scenario& s) { shard<Sharding::fsdp>(s), s.strategy.data.no_sync = true; }},
      {"reduced always", [](Scenario& s) { shard<Sharding::fsdp>(s), s.strategy.data.no_sync = false; }},
      {"zero1, no overlap", [](Scenario& s) { shard<Sharding::zero1>(s), s.strategy.data.overlap = false; }},
      {"zero2, no overlap", [](Scenario& s) { shard<Sharding::zero2>(s), s.strategy.data.overlap = false; }},
      {"hsdp, no overlap", [](Scenario& s) { shard_in_halves(s), s.strategy.data.overlap = false; }}};
  for (const Variant& variant : variants) check_equal(tiny_gpt(), some, variant);
}

TEST_CASE("sharding goes with every pipeline schedule") {
  const std::vector<Variant> variants{
      {"zero2, interleaved",
       [](Scenario& s) {
         shard<Sharding::zero2>(s);
         s.strategy.pipeline.schedule = PipelineSchedule::interleaved;
         s.strategy.pipeline.interleave = 2;
       }},
      {"fsdp, interleaved",
       [](Scenario& s) {
         shard<Sharding::fsdp>(s);
         s.strategy.pipeline.schedule = PipelineSchedule::interleaved;
         s.strategy.pipeline.interleave = 2;
       }},
      {"zero2, zero-bubble",
       [](Scenario& s) { shard<Sharding::zero2>(s), s.strategy.pipeline.schedule = PipelineSchedule::zero_bubble; }},
      {"zero3, zero-bubble",
       [](Scenario& s) { shard<Sharding::zero3>(s), s.strategy.pipeline.schedule = PipelineSchedule::zero_bubble; }},
      {"fsdp, gpipe",
       [](Scenario& s) { shard<Sharding::fsdp>(s), s.strategy.pipeline.schedule = PipelineSchedule::gpipe; }}};
  for (const Variant& variant : variants) check_equal(tiny_gpt(), {{2, 1, 2}, {2, 2, 2}}, variant);
}

TEST_CASE("sharding goes with context, sequence and expert ranks") {
  const Variant zero2{"zero2, sequence parallel", [](Scenario& s) {
                        shard<Sharding::zero2>(s);
                        s.strategy.tensor.sequence_parallel = true;
                      }};
  const Variant zero1{"zero1, sequence parallel", [](Scenario& s) {
                        shard<Sharding::zero1>(s);
                        s.strategy.tensor.sequence_parallel = true;
                      }};
  for (const Variant& variant : {zero1, zero2}) check_equal(tiny_gpt(), {{2, 2, 1}, {2, 2, 2}}, variant);
  const std::vector<Degrees> context{{2, 1, 1, 2}, {2, 1, 2, 2}}, expert{{2, 1, 1, 1, 2}, {2, 1, 1, 2, 2}};
  for (const Variant& sharding : shardings) {
    check_equal(tiny_llama(), context, sharding);
    check_equal(tiny_moe(), expert, sharding);
  }
}

TEST_CASE("an optimizer with states of its own trains alike on shards") {
  const Variant adamw{"zero2, adamw", [](Scenario& s) {
                        shard<Sharding::zero2>(s);
                        s.training.optimizer = OptimizerKind::adamw;
                        s.training.learning_rate = 1e-4;
                      }};
  const Variant adam{"fsdp, adam", [](Scenario& s) {
                       shard<Sharding::fsdp>(s);
                       s.training.optimizer = OptimizerKind::adam;
                       s.training.learning_rate = 1e-4;
                     }};
  check_equal(tiny_llama(), some, adamw);
  check_equal(tiny_llama(), some, adam);
}
