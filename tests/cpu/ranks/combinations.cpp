// Every combination of strategies trains like one rank.
#include "tests/combinations.h"

#include "tests/cpu/ranks/equal.h"

using namespace trainwire;
using namespace trainwire::test;
using namespace trainwire::testing;

namespace {

void check_all(const std::vector<Combination>& combinations, const std::string& model, std::int64_t batch) {
  const auto prepared = [](Scenario s) {
    s.training.optimizer = OptimizerKind::momentum;
    s.training.learning_rate = 0.05;
    return s;
  };
  cpu::Result alone;
  if (world_rank() == 0) alone = train(MPI_COMM_NULL, prepared(make_scenario(model, {}, batch)));
  const FirstRanks ranks(8);
  if (world_size() >= 8 && ranks.member())
    for (const Combination& c : combinations) {
      const cpu::Result shared = train(ranks.comm(), prepared(c.scenario(model, batch)));
      CAPTURE(c.name());
      if (world_rank() == 0) check_same(shared, alone);
    }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

TEST_CASE("all pairs of strategies on eight ranks train like one rank") { check_all(all_pairs(), tiny_gpt(), 16); }

TEST_CASE("expert parallelism beside every other strategy trains like one rank") {
  check_all(pairs_with_experts(), moe_of_four_blocks(), 16);
}

TEST_CASE("random combinations of all strategies on eight ranks train like one rank") {
  CAPTURE(combinations_seed);
  check_all(random_combinations(combinations_seed, random_count), deep_gpt(), 32);
}
