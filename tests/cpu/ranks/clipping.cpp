// Clipping by the global norm: the same on one rank and on any, each element of the model counted once.
#include <cmath>

#include "backend/cpu/runtime.h"
#include "tests/combinations.h"
#include "tests/cpu/ranks/equal.h"

using namespace trainwire;
using namespace trainwire::test;
using namespace trainwire::testing;

namespace {

constexpr double limit = 0.05;  // the gradients' norm is above 0.5 in these steps: always clipped

template <void (*share)(Scenario&)>
void clipped(Scenario& s) {
  share(s);
  s.training.gradient_clip = limit;
}
void unsharded(Scenario&) {}

}  // namespace

TEST_CASE("clipped gradients train alike on one rank and on any, whatever is shared out") {
  const std::vector<Degrees> combinations{{2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 2, 2}, {4, 1, 2}};
  const std::vector<Variant> variants{{"clipped", clipped<unsharded>},
                                      {"clipped, zero1", clipped<shard<Sharding::zero1>>},
                                      {"clipped, zero3", clipped<shard<Sharding::zero3>>},
                                      {"clipped, hsdp", clipped<shard_in_halves>}};
  for (const Variant& variant : variants) check_equal(tiny_gpt(), combinations, variant);
  check_equal(tiny_llama(), combinations, variants[0]);
}

TEST_CASE("a clipped step of SGD moves the parameters by the learning rate times the limit") {
  if (world_rank() != 0) return;
  Scenario s = make_scenario(tiny_gpt(), {});
  s.training.optimizer = OptimizerKind::sgd;
  s.training.learning_rate = 0.5;
  s.training.gradient_clip = limit;
  cpu::ExecuteOptions options;
  options.warmup = 0;
  options.gather_parameters = true;
  options.steps = 0;
  const auto before = cpu::execute_on(MPI_COMM_NULL, s, build_plan(s), options).parameters;
  options.steps = 1;
  const auto after = cpu::execute_on(MPI_COMM_NULL, s, build_plan(s), options).parameters;
  double squares = 0;
  for (std::size_t p = 0; p < before.size(); ++p)
    for (std::size_t i = 0; i < before[p].size(); ++i)
      squares += std::pow(static_cast<double>(after[p][i]) - static_cast<double>(before[p][i]), 2);
  CHECK(relative_error(std::sqrt(squares), s.training.learning_rate * limit) < 1e-3);
}
