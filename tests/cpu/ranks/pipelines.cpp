// Every pipeline schedule trains like one rank, alone and with data and tensor ranks.
#include "tests/cpu/ranks/equal.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

const std::vector<Degrees> two_stages{{1, 1, 2}, {2, 1, 2}, {1, 2, 2}, {2, 2, 2}};
const std::vector<Degrees> four_stages{{1, 1, 4}, {2, 1, 4}, {1, 2, 4}};

const std::string eight_blocks =
    "{family: transformer, layers: 8, hidden: 16, heads: 4, vocab: 64, positions: learned, max_sequence: 16, "
    "norm: layer_norm, activation: gelu, biases: true, tied: true, source: test}";

void interleave(Scenario& s, int chunks) {
  s.strategy.pipeline.schedule = PipelineSchedule::interleaved;
  s.strategy.pipeline.interleave = chunks;
}

// An order that no other schedule has: the stages run their micro-batches forward two at a time, put weight gradients
// of the first off to the end, and never split the backward pass of the others.
void in_pairs(Scenario& s) {
  s.strategy.pipeline.schedule = PipelineSchedule::as_given;
  s.strategy.pipeline.turns.clear();
  for (int stage = 0; stage < s.strategy.pipeline.degree; ++stage) {
    std::string text, problem;
    for (int m = 0; m < static_cast<int>(s.micro_batches()); m += 2)
      text += "F" + std::to_string(m) + " F" + std::to_string(m + 1) + " B" + std::to_string(m) + " B" +
              std::to_string(m + 1) + " ";
    s.strategy.pipeline.turns.push_back(read_turns(text + "W0", problem));
  }
}

}  // namespace

TEST_CASE("the interleaved schedule trains like one rank, embeddings tied or not") {
  const Variant two{"2 chunks", [](Scenario& s) { interleave(s, 2); }};
  for (const std::string& model : {tiny_gpt(), tiny_llama()}) { check_equal(model, two_stages, two); }
  check_equal(eight_blocks, four_stages, two, 32);
  check_equal(tiny_gpt(), two_stages, {"3 chunks for 4 blocks", [](Scenario& s) { interleave(s, 3); }});
}

TEST_CASE("the zero-bubble schedule trains like one rank, embeddings tied or not") {
  const Variant split{"zero-bubble", [](Scenario& s) { s.strategy.pipeline.schedule = PipelineSchedule::zero_bubble; }};
  for (const std::string& model : {tiny_gpt(), tiny_llama()}) {
    check_equal(model, two_stages, split);
    check_equal(model, four_stages, split);
  }
  check_equal(tiny_mlp(), two_stages, split);
}

TEST_CASE("the zero-bubble schedule of a V trains like one rank, embeddings tied or not") {
  const Variant vee{"zero-bubble-v",
                    [](Scenario& s) { s.strategy.pipeline.schedule = PipelineSchedule::zero_bubble_v; }};
  for (const std::string& model : {tiny_gpt(), tiny_llama()}) check_equal(model, two_stages, vee);
  check_equal(eight_blocks, four_stages, vee, 32);
}

TEST_CASE("turns given one by one train like one rank") {
  check_equal(tiny_gpt(), two_stages, {"in pairs", in_pairs});
  check_equal(tiny_llama(), four_stages, {"in pairs", in_pairs});
}

TEST_CASE("uneven stages train like one rank, one without blocks too") {
  check_equal(tiny_gpt(), two_stages, {"1 + 3", [](Scenario& s) { s.strategy.pipeline.layers = {1, 3}; }});
  check_equal(tiny_gpt(), four_stages, {"0 + 2 + 2 + 0", [](Scenario& s) {
                                          s.strategy.pipeline.layers = {0, 2, 2, 0};
                                        }});
}
