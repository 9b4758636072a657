// The CUDA backend's way through a plan, proved without a GPU: it trains like the CPU backend, whatever order the
// streams run in.
#include <cmath>

#include "backend/cpu/runtime.h"
#include "tests/cuda/training.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::test;
using namespace trainwire::testing;

namespace {

constexpr int steps = 3;

Scenario scenario(const std::string& model, Degrees d, trainwire::Precision precision = trainwire::Precision::fp32) {
  Scenario s = make_scenario(model, d, 8);
  s.training.optimizer = OptimizerKind::momentum;
  s.training.learning_rate = 0.05;
  s.training.precision = precision;
  return s;
}

Trained reference(const Scenario& s) {
  cpu::ExecuteOptions options;
  options.steps = steps;
  options.warmup = 0;
  options.gather_parameters = true;
  const cpu::Result r = cpu::execute_on(MPI_COMM_NULL, s, build_plan(s), options);
  return {r.timeline.loss, r.parameters};
}

// |a − b| / |b| of a parameter as a vector; its largest value over the parameters. And of the losses.
double parameter_error(const Trained& a, const Trained& b) {
  double worst = 0;
  for (std::size_t p = 0; p < b.parameters.size(); ++p) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < b.parameters[p].size(); ++i) {
      const double x = static_cast<double>(a.parameters[p][i]), y = static_cast<double>(b.parameters[p][i]);
      difference += (x - y) * (x - y);
      norm += y * y;
    }
    worst = std::max(worst, std::sqrt(difference / norm));
  }
  return worst;
}
double loss_error(const Trained& a, const Trained& b) {
  double worst = 0;
  for (std::size_t i = 0; i < b.loss.size(); ++i) worst = std::max(worst, std::abs(a.loss[i] / b.loss[i] - 1));
  return worst;
}

const std::vector<Degrees> combinations{{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2},
                                        {2, 2, 1}, {1, 2, 2}, {2, 1, 2}, {1, 1, 4}};

}  // namespace

TEST_CASE("launches, streams and events of the CUDA backend train as the CPU backend does on one rank") {
  for (const std::string& model : {tiny_gpt(), tiny_llama()}) {
    const Trained alone = reference(scenario(model, {}));
    for (const Degrees d : combinations) {
      const Scenario s = scenario(model, d);
      const Trained shared = train_on_host(s, build_plan(s), 1);
      CAPTURE(model, d.data, d.tensor, d.pipeline);
      CHECK(loss_error(shared, alone) < 1e-5);
      CHECK(parameter_error(shared, alone) < 1e-5);
    }
  }
}

TEST_CASE("perceptrons and ResNets train as on the CPU backend") {
  // Batch norm over a handful of values divides by a chance sigma and magnifies rounding: enough pixels and images.
  const std::string calm =
      "{family: cnn, blocks: [1, 1, 1, 1], bottleneck: false, width: 4, classes: 8, image: 64, source: test}";
  for (const std::string& model : {tiny_mlp(), calm}) {
    Scenario s = scenario(model, {});
    s.training.micro_batch = 4;
    s.training.learning_rate = 0.01;
    CAPTURE(model);
    const Trained there = train_on_host(s, build_plan(s), 1), here = reference(s);
    CHECK(loss_error(there, here) < 1e-5);
    CHECK(parameter_error(there, here) < 1e-5);
  }
}

TEST_CASE("whatever order the streams run in, every number is the same: the events are enough") {
  for (const Degrees d : {Degrees{2, 1, 1}, Degrees{2, 1, 2}, Degrees{1, 2, 2}}) {
    const Scenario s = scenario(tiny_gpt(), d);
    const Plan plan = build_plan(s);
    const Trained first = train_on_host(s, plan, 1, 2);
    for (const unsigned seed : {2U, 3U, 4U}) {
      CAPTURE(d.data, d.tensor, d.pipeline, seed);
      const Trained other = train_on_host(s, plan, seed, 2);
      CHECK(other.loss == first.loss);
      CHECK(other.parameters == first.parameters);
    }
  }
}

TEST_CASE("a dependency that is missing shows: the check above can fail") {
  const Scenario s = scenario(tiny_gpt(), {2, 1, 1});
  Plan plan = build_plan(s);
  const Trained right = train_on_host(s, plan, 1, 2);
  for (Program& p : plan.programs)
    for (Op& op : p.ops) op.dependencies.count = 0;
  bool differs = false;
  for (unsigned seed = 1; seed <= 5 && !differs; ++seed) {
    try {
      differs = train_on_host(s, plan, seed, 2).parameters != right.parameters;
    } catch (const std::runtime_error&) { differs = true; }
  }
  CHECK(differs);
}

TEST_CASE("bf16 and fp16 with master weights stay near fp32, and the loss falls") {
  const Trained exact = train_on_host(scenario(tiny_llama(), {}), build_plan(scenario(tiny_llama(), {})), 1);
  for (const trainwire::Precision precision : {trainwire::Precision::bf16, trainwire::Precision::fp16})
    for (const Degrees d : {Degrees{1, 1, 1}, Degrees{1, 2, 1}}) {
      const Scenario s = scenario(tiny_llama(), d, precision);
      const Trained rounded = train_on_host(s, build_plan(s), 1);
      CAPTURE(static_cast<int>(precision), d.data, d.tensor);
      CHECK(loss_error(rounded, exact) < 5e-3);
      CHECK(rounded.loss.back() < rounded.loss.front());
    }
}

TEST_CASE("every optimizer updates as on the CPU backend") {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw}) {
    // Adam magnifies rounding where a gradient is nothing but that, as of a key's bias: a model without biases.
    Scenario s = scenario(tiny_llama(), {});
    s.training.optimizer = kind;
    s.training.learning_rate = 1e-4;
    CAPTURE(static_cast<int>(kind));
    CHECK(parameter_error(train_on_host(s, build_plan(s), 1), reference(s)) < 1e-5);
  }
}
