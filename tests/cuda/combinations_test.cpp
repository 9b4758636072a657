// Every pair of strategies, in the CUDA backend's own launches on eight host devices, trains like the CPU backend on
// one rank. The table of pairs is tests/combinations.h: a new strategy comes here by itself.
#include "tests/combinations.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "backend/cpu/runtime.h"
#include "backend/cuda/execute.h"
#include "tests/cuda/training.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::test;
using namespace trainwire::testing;

namespace {

constexpr std::int64_t batch = 16;

Scenario prepared(Scenario s) {
  s.training.optimizer = OptimizerKind::momentum;
  s.training.learning_rate = 0.05;
  return s;
}

// |a − b| / |b| over all parameters as one vector.
double distance(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  double difference = 0, norm = 0;
  for (std::size_t p = 0; p < b.size(); ++p)
    for (std::size_t i = 0; i < b[p].size(); ++i) {
      const double x = static_cast<double>(a[p][i]), y = static_cast<double>(b[p][i]);
      difference += (x - y) * (x - y);
      norm += y * y;
    }
  return std::sqrt(difference / norm);
}

}  // namespace

TEST_CASE("all pairs of strategies on eight devices train like one rank of the CPU backend") {
  const Scenario alone = prepared(make_scenario(tiny_gpt(), {}, batch));
  cpu::ExecuteOptions options;
  options.steps = 1;
  options.warmup = 0;
  options.gather_parameters = true;
  const cpu::Result wanted = cpu::execute_on(MPI_COMM_NULL, alone, build_plan(alone), options);
  int left_out = 0;
  unsigned seed = 1;  // another order of ready work for each pair
  for (const Combination& c : all_pairs()) {
    CAPTURE(c.name(), seed);
    const Scenario s = prepared(c.scenario(tiny_gpt(), batch));
    if (!cuda::missing_parts(s).empty()) {
      ++left_out;
      continue;
    }
    const Plan plan = build_plan(s);
    const auto known = [](const Op& op) { return is_communication(op.kind) || cuda::has_kernel(op.kind, op.role); };
    if (!std::all_of(plan.programs[0].ops.begin(), plan.programs[0].ops.end(), known)) {
      ++left_out;
      continue;
    }
    CHECK(cuda::message_order_problems(plan).empty());
    const Trained got = train_on_host(s, plan, seed++, 1);
    CHECK(relative_error(got.loss[0], wanted.timeline.loss[0]) < 1e-5);
    CHECK(distance(got.parameters, wanted.parameters) < 1e-5);
  }
  if (left_out > 0) std::printf("SKIPPED: %d pairs with what the CUDA backend does not have yet\n", left_out);
}
