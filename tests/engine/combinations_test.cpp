// Every combination of strategies simulates to its end.
#include "tests/combinations.h"
#include "sim/build/build.h"
#include "tests/engine/hand_made.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

void check_simulates(const Combination& c, const std::string& model, std::int64_t batch) {
  const Plan plan = build_plan(c.scenario(model, batch));  // verified
  CAPTURE(c.name());
  CHECK(hand_made::run(plan, hand_made::Cluster{1, 8}.topology()).step_time_s > 0);
}

}  // namespace

TEST_CASE("all pairs of strategies on eight ranks simulate to their end", "[combinations]") {
  for (const Combination& c : all_pairs()) check_simulates(c, tiny_gpt(), 16);
}

TEST_CASE("expert parallelism beside every other strategy simulates to its end", "[combinations]") {
  for (const Combination& c : pairs_with_experts()) check_simulates(c, moe_of_four_blocks(), 16);
}

TEST_CASE("random combinations of all strategies on eight ranks simulate to their end", "[combinations]") {
  CAPTURE(combinations_seed);
  for (const Combination& c : random_combinations(combinations_seed, random_count)) check_simulates(c, deep_gpt(), 32);
}
