// A mixture of experts, part by part: values against the definition, gradients against finite differences.
#include <cmath>

#include "tests/cpu/sheet.h"

using namespace trainwire;
using namespace trainwire::test;

namespace {

constexpr std::int64_t T = 7, H = 5, F = 3, E = 4, k = 2;

// T tokens of width H choose 2 of 4 experts, whose rows lie in `parts` parts.
struct Mixture {
  Sheet sheet{31};
  int parts;
  Routed how{parts, static_cast<int>(E) / parts, T* k, 0};
  BufferId x = sheet.real({1, T, H}), logits = sheet.real({1, T, E}), weights = sheet.real({T, k});
  BufferId chosen = sheet.integers({T, k}, 1);
  BufferId w1 = sheet.real({E / parts, H, 2, F}), w2 = sheet.real({E / parts, F, H});
  BufferId rows = sheet.routed({T * k, H}, how), wide = sheet.routed({T * k, 2 * F}, how);
  BufferId active = sheet.routed({T * k, F}, how), narrow = sheet.routed({T * k, H}, how);
  BufferId y = sheet.real({1, T, H}), dy = sheet.real({1, T, H});

  explicit Mixture(int number_of_parts) : parts(number_of_parts) { sheet.attributes.top_k = static_cast<int>(k); }

  void forward() {
    sheet.run(OpKind::router, Role::forward, {logits}, {weights, chosen});
    sheet.run(OpKind::dispatch, Role::forward, {x, chosen}, {rows});
    sheet.run(OpKind::expert_linear, Role::forward, {rows, w1}, {wide});
    sheet.run(OpKind::swiglu, Role::forward, {wide}, {active});
    sheet.run(OpKind::expert_linear, Role::forward, {active, w2}, {narrow});
    sheet.run(OpKind::combine, Role::forward, {narrow, weights, chosen}, {y});
  }
};

double at(Sheet& sheet, BufferId b, std::int64_t i) { return sheet.values(b)[static_cast<std::size_t>(i)]; }

}  // namespace

TEST_CASE("a token gets the weighted sum of its experts, whose weights are the softmax of its largest logits") {
  Mixture m(1);
  Sheet& sheet = m.sheet;
  m.forward();
  double worst = 0;
  for (std::int64_t t = 0; t < T; ++t) {
    std::vector<std::int64_t> order{0, 1, 2, 3};
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return at(sheet, m.logits, t * E + a) > at(sheet, m.logits, t * E + b); });
    double sum = 0;
    for (std::int64_t j = 0; j < k; ++j)
      sum += std::exp(at(sheet, m.logits, t * E + order[static_cast<std::size_t>(j)]));
    for (std::int64_t h = 0; h < H; ++h) {
      double expected = 0;
      for (std::int64_t j = 0; j < k; ++j) {
        const std::int64_t e = order[static_cast<std::size_t>(j)];
        for (std::int64_t f = 0; f < F; ++f) {
          double gate = 0, up = 0;
          for (std::int64_t i = 0; i < H; ++i) {
            gate += at(sheet, m.x, t * H + i) * at(sheet, m.w1, (e * H + i) * 2 * F + f);
            up += at(sheet, m.x, t * H + i) * at(sheet, m.w1, (e * H + i) * 2 * F + F + f);
          }
          expected += std::exp(at(sheet, m.logits, t * E + e)) / sum * gate / (1 + std::exp(-gate)) * up *
                      at(sheet, m.w2, (e * F + f) * H + h);
        }
      }
      worst = std::max(worst, std::abs(expected - at(sheet, m.y, t * H + h)));
    }
  }
  CHECK(worst < 1e-12);
}

TEST_CASE("gradients of a mixture of experts are those of finite differences, in one part or several") {
  for (const int parts : {1, 2}) {
    CAPTURE(parts);
    Mixture m(parts);
    Sheet& sheet = m.sheet;
    const BufferId dnarrow = sheet.routed({T * k, H}, m.how), dweights = sheet.real({T, k});
    const BufferId dactive = sheet.routed({T * k, F}, m.how), dwide = sheet.routed({T * k, 2 * F}, m.how);
    const BufferId drows = sheet.routed({T * k, H}, m.how), dx = sheet.real({1, T, H}), dlogits = sheet.real({1, T, E});
    const BufferId dw1 = sheet.real(sheet.shape(m.w1)), dw2 = sheet.real(sheet.shape(m.w2));
    m.forward();
    sheet.run(OpKind::combine, Role::backward, {m.dy, m.narrow, m.weights, m.chosen}, {dnarrow, dweights});
    sheet.run(OpKind::expert_linear, Role::input_gradient, {dnarrow, m.w2}, {dactive});
    sheet.run(OpKind::expert_linear, Role::weight_gradient, {dnarrow, m.active}, {dw2});
    sheet.run(OpKind::swiglu, Role::backward, {dactive, m.wide}, {dwide});
    sheet.run(OpKind::expert_linear, Role::input_gradient, {dwide, m.w1}, {drows});
    sheet.run(OpKind::expert_linear, Role::weight_gradient, {dwide, m.rows}, {dw1});
    sheet.run(OpKind::dispatch, Role::backward, {drows, m.chosen}, {dx});
    sheet.run(OpKind::router, Role::backward, {dweights, m.weights, m.chosen}, {dlogits});
    check_gradients(sheet, [&] { m.forward(); }, m.y, m.dy, {{m.x, dx}, {m.logits, dlogits}, {m.w1, dw1}, {m.w2, dw2}});
  }
}

TEST_CASE("normalising query and key heads has the gradients of finite differences, and leaves values alone") {
  Sheet sheet(32);
  sheet.attributes.heads = 4;
  sheet.attributes.kv_heads = 2;
  sheet.attributes.head_dim = 3;
  const Shape shape{2, 3, 2 * 4 * 3};
  const BufferId x = sheet.real(shape), gain = sheet.real({2, 3}), y = sheet.real(shape), dy = sheet.real(shape);
  const BufferId statistics = sheet.real({2, 3, 2 * 3}), dx = sheet.real(shape), dgain = sheet.real({2, 3});
  const auto forward = [&] { sheet.run(OpKind::qk_norm, Role::forward, {x, gain}, {y, statistics}); };
  forward();
  for (std::int64_t row = 0; row < 6; ++row)
    for (int i = 0; i < 3; ++i) CHECK(at(sheet, y, row * 24 + 9 + i) == at(sheet, x, row * 24 + 9 + i));
  sheet.run(OpKind::qk_norm, Role::backward, {dy, x, gain, statistics}, {dx, dgain});
  check_gradients(sheet, forward, y, dy, {{x, dx}, {gain, dgain}});
}
