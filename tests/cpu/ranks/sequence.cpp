// Ranks that share out sequences (sequence and context parallelism) train like one rank.
#include "tests/cpu/ranks/equal.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

const Variant sequence_parallel{"sequence parallel", [](Scenario& s) { s.strategy.tensor.sequence_parallel = true; }};
const Variant methods[] = {
    {"all-gather", [](Scenario& s) { s.strategy.context.method = ContextMethod::all_gather; }},
    {"ulysses", [](Scenario& s) { s.strategy.context.method = ContextMethod::ulysses; }},
    {"ring", [](Scenario& s) { s.strategy.context.method = ContextMethod::ring; }},
};

constexpr Degrees over_context(int context, int data = 1, int tensor = 1, int pipeline = 1) {
  return {data, tensor, pipeline, context};
}

}  // namespace

TEST_CASE("tensor ranks that share the sequence between the split parts train like one rank") {
  const std::vector<Degrees> combinations{{1, 2, 1}, {1, 4, 1}, {2, 2, 1}, {1, 2, 2}, {2, 2, 2}};
  check_equal(tiny_gpt(), combinations, sequence_parallel);
  check_equal(tiny_llama(), combinations, sequence_parallel);
}

TEST_CASE("context ranks train like one rank, whatever the method and the other axes") {
  const std::vector<Degrees> combinations{over_context(2),       over_context(4),          over_context(2, 2),
                                          over_context(2, 1, 2), over_context(2, 1, 1, 2), over_context(2, 2, 2)};
  for (const Variant& method : methods) {
    check_equal(tiny_gpt(), combinations, method);
    check_equal(tiny_llama(), combinations, method);
  }
}

TEST_CASE("context ranks, of which each is a group of sequence-parallel tensor ranks, train like one rank") {
  for (const Variant& variant : {Variant{"ring", [](Scenario& s) { s.strategy.tensor.sequence_parallel = true; }},
                                 Variant{"ulysses", [](Scenario& s) {
                                           s.strategy.tensor.sequence_parallel = true;
                                           s.strategy.context.method = ContextMethod::ulysses;
                                         }}})
    check_equal(tiny_gpt(), {over_context(2, 1, 2), over_context(2, 2, 2)}, variant);
}
