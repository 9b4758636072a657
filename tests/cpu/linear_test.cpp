// Products, biases and embeddings: values against loops, gradients against finite differences.
#include "tests/cpu/sheet.h"

using namespace trainwire;
using namespace trainwire::test;

namespace {

struct LinearCase {
  Shape x, weight, y;
  bool transposed, bias;
};
const std::vector<LinearCase>& linear_cases() {
  static const std::vector<LinearCase> cases = {
      {{5, 7}, {7, 3}, {5, 3}, false, true},
      {{2, 3, 4}, {4, 2, 6}, {2, 3, 12}, false, false},  // a weight stored (K,a,b)
      {{2, 3, 4}, {9, 4}, {2, 3, 9}, true, false},       // tied embeddings
      {{2, 1, 5}, {6, 5}, {2, 1, 6}, true, true},
      {{1, 1}, {1, 1}, {1, 1}, false, true},
  };
  return cases;
}

}  // namespace

TEST_CASE("a linear operation is the sum over K of x times weight, plus the bias") {
  for (const LinearCase& c : linear_cases()) {
    Sheet sheet(1);
    sheet.attributes.transposed = c.transposed;
    const std::int64_t K = c.x[c.x.rank - 1], N = c.y[c.y.rank - 1], M = c.x.elements() / K;
    const BufferId x = sheet.real(c.x), w = sheet.real(c.weight), b = sheet.real({N}), y = sheet.real(c.y);
    std::vector<BufferId> inputs{x, w};
    if (c.bias) inputs.push_back(b);
    sheet.run(OpKind::linear, Role::forward, inputs, {y});
    std::vector<double> expected;
    for (std::int64_t m = 0; m < M; ++m)
      for (std::int64_t n = 0; n < N; ++n) {
        double sum = c.bias ? sheet.values(b)[static_cast<std::size_t>(n)] : 0;
        for (std::int64_t k = 0; k < K; ++k)
          sum += sheet.values(x)[static_cast<std::size_t>(m * K + k)] *
                 sheet.values(w)[static_cast<std::size_t>(c.transposed ? n * K + k : k * N + n)];
        expected.push_back(sum);
      }
    CHECK(largest_difference(sheet.values(y), expected) < 1e-13);
  }
}

TEST_CASE("the gradients of a linear operation are its finite differences") {
  for (const LinearCase& c : linear_cases()) {
    Sheet sheet(2);
    sheet.attributes.transposed = c.transposed;
    const std::int64_t N = c.y[c.y.rank - 1];
    const BufferId x = sheet.real(c.x), w = sheet.real(c.weight), b = sheet.real({N});
    const BufferId y = sheet.real(c.y), dy = sheet.real(c.y);
    const BufferId dx = sheet.real(c.x), dw = sheet.real(c.weight), db = sheet.real({N});
    std::vector<BufferId> inputs{x, w}, gradients{dw};
    if (c.bias) {
      inputs.push_back(b);
      gradients.push_back(db);
    }
    const auto forward = [&] { sheet.run(OpKind::linear, Role::forward, inputs, {y}); };
    sheet.run(OpKind::linear, Role::input_gradient, {dy, w}, {dx});
    sheet.run(OpKind::linear, Role::weight_gradient, {dy, x}, gradients);
    check_gradients(sheet, forward, y, dy, {{x, dx}, {w, dw}});
    if (c.bias) check_gradients(sheet, forward, y, dy, {{b, db}});
  }
}

TEST_CASE("a weight gradient that accumulates adds to what is there") {
  Sheet sheet(3);
  const BufferId x = sheet.real({4, 3}), dy = sheet.real({4, 2}), dw = sheet.real({3, 2}), db = sheet.real({2});
  sheet.run(OpKind::linear, Role::weight_gradient, {dy, x}, {dw, db});
  std::vector<double> twice_w = sheet.values(dw), twice_b = sheet.values(db);
  for (double& v : twice_w) v *= 2;
  for (double& v : twice_b) v *= 2;
  sheet.run(OpKind::linear, Role::weight_gradient, {dy, x}, {dw, db}, true);
  CHECK(largest_difference(sheet.values(dw), twice_w) < 1e-13);
  CHECK(largest_difference(sheet.values(db), twice_b) < 1e-13);
}

TEST_CASE("the gradient of a bias is its finite difference") {
  Sheet sheet(4);
  const BufferId x = sheet.real({2, 3, 5}), b = sheet.real({5}), y = sheet.real({2, 3, 5}), dy = sheet.real({2, 3, 5});
  const BufferId db = sheet.real({5});
  sheet.run(OpKind::bias, Role::backward, {dy}, {db});
  check_gradients(sheet, [&] { sheet.run(OpKind::bias, Role::forward, {x, b}, {y}); }, y, dy, {{b, db}, {x, dy}});
}

TEST_CASE("an embedding shard gives its rows and zero for all others, and its gradient is the finite difference") {
  const int vocabulary = 12, parts = 3;
  std::vector<double> sum;
  for (int part = 0; part < parts; ++part) {
    Sheet sheet(5);
    const BufferId tokens = sheet.integers({2, 4}, vocabulary), table = sheet.real({vocabulary / parts, 3});
    const BufferId y = sheet.real({2, 4, 3}), dy = sheet.real({2, 4, 3}),
                   gradient = sheet.real({vocabulary / parts, 3});
    sheet.shard(table, 0);
    sheet.shard(gradient, 0);
    sheet.context.coordinate[static_cast<std::size_t>(Axis::tensor)] = part;
    sheet.integers(tokens)[0] = part * vocabulary / parts;  // one row is certainly in the shard
    const auto forward = [&] { sheet.run(OpKind::embedding, Role::forward, {tokens, table}, {y}); };
    sheet.run(OpKind::embedding, Role::backward, {dy, tokens}, {gradient});
    forward();
    for (std::size_t r = 0; r < 8; ++r) {
      const int row = sheet.integers(tokens)[r] - part * vocabulary / parts;
      for (std::size_t h = 0; h < 3; ++h) {
        const bool mine = row >= 0 && row < vocabulary / parts;
        CHECK(sheet.values(y)[r * 3 + h] == (mine ? sheet.values(table)[static_cast<std::size_t>(row) * 3 + h] : 0));
      }
    }
    check_gradients(sheet, forward, y, dy, {{table, gradient}});
  }
}

TEST_CASE("the gradient of the position table sums over the sequences and is 0 for unused positions") {
  Sheet sheet(6);
  const BufferId x = sheet.real({3, 4, 2}), table = sheet.real({6, 2}), y = sheet.real({3, 4, 2});
  const BufferId dy = sheet.real({3, 4, 2}), gradient = sheet.real({6, 2});
  sheet.run(OpKind::position, Role::backward, {dy}, {gradient});
  check_gradients(sheet,
                  [&] {
                    sheet.run(OpKind::position, Role::forward, {x, table}, {y});
                  },
                  y, dy, {{table, gradient}, {x, dy}});
}
