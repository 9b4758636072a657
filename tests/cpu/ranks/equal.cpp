#include "tests/cpu/ranks/equal.h"

#include <cmath>

#include "backend/cpu/runtime.h"

namespace trainwire::testing {

using namespace trainwire::test;
namespace {

constexpr double tolerance = 1e-5;  // relative, of sums in fp32 taken in another order
constexpr int steps = 3;

// |a − b| / |b| of a parameter as a vector; its largest value over the parameters.
double parameter_error(const cpu::Result& a, const cpu::Result& b) {
  if (a.parameters.size() != b.parameters.size()) return INFINITY;
  double worst = 0;
  for (std::size_t p = 0; p < a.parameters.size(); ++p) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < a.parameters[p].size(); ++i) {
      const double x = static_cast<double>(a.parameters[p][i]), y = static_cast<double>(b.parameters[p][i]);
      difference += (x - y) * (x - y);
      norm += y * y;
    }
    const double error = std::sqrt(difference / norm);
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

double loss_error(const cpu::Result& a, const cpu::Result& b) {
  if (a.timeline.loss.size() != steps || b.timeline.loss.size() != steps) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < steps; ++i)
    worst = std::max(worst, relative_error(a.timeline.loss[i], b.timeline.loss[i]));
  return worst;
}

}  // namespace

cpu::Result train(MPI_Comm comm, const Scenario& s) {
  cpu::ExecuteOptions options;
  options.steps = steps;
  options.warmup = 0;
  options.gather_parameters = true;
  return cpu::execute_on(comm, s, build_plan(s), options);
}

void check_same(const cpu::Result& shared, const cpu::Result& alone) {
  CHECK(loss_error(shared, alone) < tolerance);
  CHECK(parameter_error(shared, alone) < tolerance);
  CHECK(relative_error(shared.timeline.parameters_checksum, alone.timeline.parameters_checksum) < tolerance);
}

void check_equal(const std::string& model, const std::vector<Degrees>& combinations, const Variant& variant,
                 std::int64_t global_batch) {
  const auto make = [&](Degrees d) {
    Scenario s = make_scenario(model, d, global_batch);
    s.training.optimizer = OptimizerKind::momentum;
    s.training.learning_rate = 0.05;
    variant.apply(s);
    return s;
  };
  cpu::Result alone;
  if (world_rank() == 0) {
    alone = train(MPI_COMM_NULL, make({}));
    CHECK(alone.timeline.loss.size() == steps);
  }
  for (const Degrees d : combinations) {
    const int n = make(d).world_size();
    if (n > world_size()) continue;
    const FirstRanks ranks(n);
    if (!ranks.member()) continue;
    const cpu::Result shared = train(ranks.comm(), make(d));
    if (world_rank() != 0) continue;
    CAPTURE(model, variant.name, d.data, d.tensor, d.pipeline, d.context, d.expert);
    check_same(shared, alone);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace trainwire::testing
