// Trains the tiny GPT on DATA × TENSOR × PIPELINE ranks, which it starts itself: what the tests of dying ranks run.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "backend/cpu/execute.h"
#include "tests/scenarios.h"

int main(int argc, char** argv) {
  using namespace trainwire;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 3) return 2;
  const testing::Degrees d{std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3])};
  const Scenario scenario = testing::make_scenario(testing::tiny_gpt(), d);
  const int status = cpu::launch_ranks(scenario.world_size(), arguments);
  if (status >= 0) return status;
  const cpu::Result result = cpu::execute(scenario, build_plan(scenario), {});
  if (cpu::world_rank() == 0) std::printf("loss %.9g\n", result.timeline.loss.back());
  return 0;
}
