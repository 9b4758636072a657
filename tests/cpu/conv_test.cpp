// Convolution and pooling: values against loops over the definition, gradients against finite differences.
#include <cmath>
#include <limits>

#include "tests/cpu/sheet.h"

using namespace trainwire;
using namespace trainwire::test;

namespace {

struct ConvCase {
  std::int64_t B, C, h, w, O;
  int kernel, stride, padding;
  std::int64_t oh() const { return (h + 2 * padding - kernel) / stride + 1; }
  std::int64_t ow() const { return (w + 2 * padding - kernel) / stride + 1; }
};
const ConvCase conv_cases[] = {
    {2, 3, 5, 6, 4, 3, 1, 1}, {1, 2, 7, 7, 3, 3, 2, 1}, {2, 2, 4, 4, 3, 1, 1, 0},
    {1, 3, 6, 5, 2, 1, 2, 0}, {1, 2, 9, 9, 2, 7, 2, 3}, {1, 1, 2, 2, 1, 5, 1, 2},
};

void set(Attributes& a, const ConvCase& c) {
  a.kernel = c.kernel;
  a.stride = c.stride;
  a.padding = c.padding;
}

// Calls visit(output index, input index in its plane, kernel index) for every pair that meets, per output of a plane.
template <class Visit>
void for_each_pair(const ConvCase& c, const Visit& visit) {
  for (std::int64_t oy = 0; oy < c.oh(); ++oy)
    for (std::int64_t ox = 0; ox < c.ow(); ++ox)
      for (std::int64_t ky = 0; ky < c.kernel; ++ky)
        for (std::int64_t kx = 0; kx < c.kernel; ++kx) {
          const std::int64_t iy = oy * c.stride + ky - c.padding, ix = ox * c.stride + kx - c.padding;
          if (iy >= 0 && iy < c.h && ix >= 0 && ix < c.w) visit(oy * c.ow() + ox, iy * c.w + ix, ky * c.kernel + kx);
        }
}

}  // namespace

TEST_CASE("a convolution is the sum over channels and kernel of the padded image times the weight") {
  for (const ConvCase& c : conv_cases) {
    CAPTURE(c.h, c.w, c.kernel, c.stride, c.padding);
    Sheet sheet(41);
    set(sheet.attributes, c);
    const std::int64_t area = c.kernel * c.kernel, P = c.oh() * c.ow();
    const BufferId x = sheet.real({c.B, c.C, c.h, c.w}), w = sheet.real({c.O, c.C * area});
    const BufferId y = sheet.real({c.B, c.O, c.oh(), c.ow()});
    sheet.run(OpKind::conv2d, Role::forward, {x, w}, {y});
    std::vector<double> expected(sheet.values(y).size());
    for (std::int64_t b = 0; b < c.B; ++b)
      for (std::int64_t o = 0; o < c.O; ++o)
        for (std::int64_t ch = 0; ch < c.C; ++ch)
          for_each_pair(c, [&](std::int64_t out, std::int64_t in, std::int64_t k) {
            expected[static_cast<std::size_t>((b * c.O + o) * P + out)] +=
                sheet.values(x)[static_cast<std::size_t>((b * c.C + ch) * c.h * c.w + in)] *
                sheet.values(w)[static_cast<std::size_t>((o * c.C + ch) * area + k)];
          });
    CHECK(largest_difference(sheet.values(y), expected) < 1e-12);
  }
}

TEST_CASE("the gradients of a convolution are its finite differences") {
  for (const ConvCase& c : conv_cases) {
    CAPTURE(c.h, c.w, c.kernel, c.stride, c.padding);
    Sheet sheet(42);
    set(sheet.attributes, c);
    const Shape in{c.B, c.C, c.h, c.w}, out{c.B, c.O, c.oh(), c.ow()}, weight{c.O, c.C * c.kernel * c.kernel};
    const BufferId x = sheet.real(in), w = sheet.real(weight), y = sheet.real(out), dy = sheet.real(out);
    const BufferId dx = sheet.real(in), dw = sheet.real(weight);
    sheet.run(OpKind::conv2d, Role::input_gradient, {dy, w}, {dx});
    sheet.run(OpKind::conv2d, Role::weight_gradient, {dy, x}, {dw});
    check_gradients(sheet, [&] { sheet.run(OpKind::conv2d, Role::forward, {x, w}, {y}); }, y, dy, {{x, dx}, {w, dw}});
    const auto once = sheet.values(dw);
    sheet.run(OpKind::conv2d, Role::weight_gradient, {dy, x}, {dw}, true);
    CHECK(sheet.values(dw)[0] == Approx(2 * once[0]));
  }
}

TEST_CASE("max_pool takes the largest value under the kernel and sends the gradient there") {
  const ConvCase c{2, 3, 7, 6, 0, 3, 2, 1};
  Sheet sheet(43);
  set(sheet.attributes, c);
  const Shape in{c.B, c.C, c.h, c.w}, out{c.B, c.C, c.oh(), c.ow()};
  const BufferId x = sheet.real(in), y = sheet.real(out), index = sheet.integers(out, 1), dy = sheet.real(out);
  const BufferId dx = sheet.real(in);
  const auto forward = [&] { sheet.run(OpKind::max_pool, Role::forward, {x}, {y, index}); };
  forward();
  std::vector<double> expected(sheet.values(y).size(), -std::numeric_limits<double>::infinity());
  for (std::int64_t plane = 0; plane < c.B * c.C; ++plane)
    for_each_pair(c, [&](std::int64_t o, std::int64_t i, std::int64_t) {
      double& best = expected[static_cast<std::size_t>(plane * c.oh() * c.ow() + o)];
      best = std::max(best, sheet.values(x)[static_cast<std::size_t>(plane * c.h * c.w + i)]);
    });
  CHECK(sheet.values(y) == expected);
  sheet.run(OpKind::max_pool, Role::backward, {dy, index}, {dx});
  check_gradients(sheet, forward, y, dy, {{x, dx}});
}

TEST_CASE("mean_pool averages a plane, and its gradient is its finite difference") {
  Sheet sheet(44);
  const BufferId x = sheet.real({2, 3, 4, 5}), y = sheet.real({2, 3}), dy = sheet.real({2, 3});
  const BufferId dx = sheet.real({2, 3, 4, 5});
  const auto forward = [&] { sheet.run(OpKind::mean_pool, Role::forward, {x}, {y}); };
  forward();
  double sum = 0;
  for (std::size_t i = 0; i < 20; ++i) sum += sheet.values(x)[i];
  CHECK(sheet.values(y)[0] == Approx(sum / 20));
  sheet.run(OpKind::mean_pool, Role::backward, {dy}, {dx});
  check_gradients(sheet, forward, y, dy, {{x, dx}});
}
