// The loss over a vocabulary in one piece and in shards, and the update rules of the optimizers.
#include <cmath>

#include "tests/cpu/sheet.h"

using namespace trainwire;
using namespace trainwire::test;

TEST_CASE("the cross-entropy of vocabulary shards equals that of the whole, and so do its gradients") {
  const std::int64_t rows = 6, V = 12, parts = 3, tokens = 48;
  Sheet whole(31);
  whole.attributes.tokens = tokens;
  const BufferId logits = whole.real({rows, V}), targets = whole.integers({rows}, static_cast<int>(V));
  const BufferId max = whole.real({rows}), sums = whole.real({rows, 2}), loss = whole.real({1}), one = whole.real({1});
  const BufferId dlogits = whole.real({rows, V});
  const auto forward = [&] {
    whole.run(OpKind::logits_max, Role::forward, {logits}, {max});
    whole.run(OpKind::logits_sum, Role::forward, {logits, max, targets}, {sums});
    whole.run(OpKind::cross_entropy, Role::forward, {logits, max, sums, targets}, {loss});
  };
  forward();
  double expected = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::size_t v = 0; v < V; ++v) sum += std::exp(whole.values(logits)[r * V + v]);
    const auto target = static_cast<std::size_t>(whole.integers(targets)[r]);
    expected += (std::log(sum) - whole.values(logits)[r * V + target]) / tokens;
  }
  CHECK(whole.values(loss)[0] == Approx(expected));
  whole.values(one) = {1.0};
  whole.run(OpKind::cross_entropy, Role::backward, {logits, max, sums, targets}, {dlogits});
  check_gradients(whole, forward, loss, one, {{logits, dlogits}});

  // The same from shards: maximum and sums are added up as the all-reduces would.
  std::vector<double> total(2 * rows);
  for (std::int64_t part = 0; part < parts; ++part) {
    Sheet sheet(31);
    sheet.attributes.tokens = tokens;
    sheet.context.coordinate[static_cast<std::size_t>(Axis::tensor)] = static_cast<int>(part);
    const std::int64_t width = V / parts;
    const BufferId shard = sheet.real({rows, width}), t = sheet.integers({rows}, 1), m = sheet.real({rows});
    const BufferId s = sheet.real({rows, 2}), gradient = sheet.real({rows, width});
    sheet.shard(shard, 1);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t v = 0; v < width; ++v)
        sheet.values(shard)[static_cast<std::size_t>(r * width + v)] =
            whole.values(logits)[static_cast<std::size_t>(r * V + part * width + v)];
    sheet.integers(t) = whole.integers(targets);
    sheet.values(m) = whole.values(max);
    sheet.run(OpKind::logits_sum, Role::forward, {shard, m, t}, {s});
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += sheet.values(s)[i];
    sheet.values(s) = whole.values(sums);
    sheet.run(OpKind::cross_entropy, Role::backward, {shard, m, s, t}, {gradient});
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t v = 0; v < width; ++v)
        CHECK(sheet.values(gradient)[static_cast<std::size_t>(r * width + v)] ==
              Approx(whole.values(dlogits)[static_cast<std::size_t>(r * V + part * width + v)]));
  }
  CHECK(largest_difference(total, whole.values(sums)) < 1e-12);
}

namespace {

struct Updated {
  double p, m, v;
};
// One element, `steps` steps with a constant gradient, from the papers' formulas.
Updated expected_update(OptimizerKind kind, double p, double g, double lr, double decay, int steps) {
  double m = 0, v = 0;
  for (int t = 1; t <= steps; ++t) {
    switch (kind) {
      case OptimizerKind::sgd:
        p -= lr * g;
        break;
      case OptimizerKind::momentum:
        m = 0.9 * m + g;
        p -= lr * m;
        break;
      case OptimizerKind::adam:
      case OptimizerKind::adamw: {
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        const double first = m / (1 - std::pow(0.9, t)), second = v / (1 - std::pow(0.999, t));
        if (kind == OptimizerKind::adamw) p -= lr * decay * p;
        p -= lr * first / (std::sqrt(second) + 1e-8);
      }
    }
  }
  return {p, m, v};
}

}  // namespace

TEST_CASE("every optimizer follows its formula, for a list of parameters") {
  for (const OptimizerKind kind :
       {OptimizerKind::sgd, OptimizerKind::momentum, OptimizerKind::adam, OptimizerKind::adamw}) {
    CAPTURE(static_cast<int>(kind));
    Sheet sheet(32);
    const BufferId g0 = sheet.real({3, 4}), g1 = sheet.real({5}), p0 = sheet.real({3, 4}), p1 = sheet.real({5});
    std::vector<BufferId> outputs{p0, p1};
    const int states = kind == OptimizerKind::sgd ? 0 : kind == OptimizerKind::momentum ? 1 : 2;
    for (const Shape& shape : {Shape{3, 4}, Shape{5}})
      for (int i = 0; i < states; ++i) {
        outputs.push_back(sheet.real(shape));
        for (double& v : sheet.values(outputs.back())) v = 0;
      }
    std::vector<ModelParameter> parameters(4 + 4);
    parameters[static_cast<std::size_t>(p0)].decay = true;
    sheet.context.parameters = parameters;
    sheet.context.optimizer = kind;
    sheet.context.learning_rate = 0.01;
    const double before0 = sheet.values(p0)[7], before1 = sheet.values(p1)[2];
    for (int t = 1; t <= 3; ++t) {
      sheet.context.step = t;
      sheet.run(OpKind::optimizer, Role::update, {g0, g1}, outputs);
    }
    CHECK(sheet.values(p0)[7] == Approx(expected_update(kind, before0, sheet.values(g0)[7], 0.01, 0.01, 3).p));
    CHECK(sheet.values(p1)[2] == Approx(expected_update(kind, before1, sheet.values(g1)[2], 0.01, 0, 3).p));
  }
}
