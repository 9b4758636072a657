// Normalisations, activations and pooling: values against loops, gradients against finite differences.
#include <cmath>

#include "tests/cpu/sheet.h"

using namespace trainwire;
using namespace trainwire::test;

TEST_CASE("layer_norm gives rows of mean 0 and variance 1 before gain and bias, and right gradients") {
  Sheet sheet(11);
  const Shape shape{2, 3, 8};
  const BufferId x = sheet.real(shape), gain = sheet.real({8}), bias = sheet.real({8}), y = sheet.real(shape);
  const BufferId statistics = sheet.real({6, 2}), dy = sheet.real(shape), dx = sheet.real(shape);
  const BufferId dgain = sheet.real({8}), dbias = sheet.real({8});
  const auto forward = [&] { sheet.run(OpKind::layer_norm, Role::forward, {x, gain, bias}, {y, statistics}); };
  forward();
  for (std::size_t r = 0; r < 6; ++r) {
    double mean = 0, square = 0, variance = 0;
    for (std::size_t h = 0; h < 8; ++h) {
      const double normal = (sheet.values(y)[r * 8 + h] - sheet.values(bias)[h]) / sheet.values(gain)[h];
      mean += normal / 8;
      square += normal * normal / 8;
    }
    variance = std::pow(sheet.values(statistics)[2 * r + 1], -2.0) - static_cast<double>(sheet.attributes.epsilon);
    CHECK(std::abs(mean) < 1e-12);
    CHECK(square == Approx(variance / (variance + static_cast<double>(sheet.attributes.epsilon))));
  }
  sheet.run(OpKind::layer_norm, Role::backward, {dy, x, gain, statistics}, {dx, dgain, dbias});
  check_gradients(sheet, forward, y, dy, {{x, dx}, {gain, dgain}, {bias, dbias}});
  const auto once = sheet.values(dgain);
  sheet.run(OpKind::layer_norm, Role::backward, {dy, x, gain, statistics}, {dx, dgain, dbias}, true);
  CHECK(sheet.values(dgain)[3] == Approx(2 * once[3]));
}

TEST_CASE("rms_norm divides a row by its root mean square, and has right gradients") {
  Sheet sheet(12);
  const Shape shape{5, 6};
  const BufferId x = sheet.real(shape), gain = sheet.real({6}), y = sheet.real(shape), statistics = sheet.real({5, 1});
  const BufferId dy = sheet.real(shape), dx = sheet.real(shape), dgain = sheet.real({6});
  const auto forward = [&] { sheet.run(OpKind::rms_norm, Role::forward, {x, gain}, {y, statistics}); };
  forward();
  for (std::size_t r = 0; r < 5; ++r) {
    double square = 0;
    for (std::size_t h = 0; h < 6; ++h) square += std::pow(sheet.values(x)[r * 6 + h], 2) / 6;
    const double expected = sheet.values(x)[r * 6] * sheet.values(gain)[0] /
                            std::sqrt(square + static_cast<double>(sheet.attributes.epsilon));
    CHECK(sheet.values(y)[r * 6] == Approx(expected));
  }
  sheet.run(OpKind::rms_norm, Role::backward, {dy, x, gain, statistics}, {dx, dgain});
  check_gradients(sheet, forward, y, dy, {{x, dx}, {gain, dgain}});
}

TEST_CASE("batch_norm normalises a channel over batch and image, and has right gradients") {
  Sheet sheet(13);
  const Shape shape{3, 4, 2, 5};
  const BufferId x = sheet.real(shape), gain = sheet.real({4}), bias = sheet.real({4}), y = sheet.real(shape);
  const BufferId statistics = sheet.real({4, 2}), dy = sheet.real(shape), dx = sheet.real(shape);
  const BufferId dgain = sheet.real({4}), dbias = sheet.real({4});
  const auto forward = [&] { sheet.run(OpKind::batch_norm, Role::forward, {x, gain, bias}, {y, statistics}); };
  forward();
  for (std::size_t c = 0; c < 4; ++c) {
    double mean = 0;
    for (std::size_t b = 0; b < 3; ++b)
      for (std::size_t i = 0; i < 10; ++i) mean += sheet.values(y)[(b * 4 + c) * 10 + i] / 30;
    CHECK(mean == Approx(sheet.values(bias)[c]));
  }
  sheet.run(OpKind::batch_norm, Role::backward, {dy, x, gain, statistics}, {dx, dgain, dbias});
  check_gradients(sheet, forward, y, dy, {{x, dx}, {gain, dgain}, {bias, dbias}});
}

TEST_CASE("gelu, relu and swiglu follow their formulas and have right gradients") {
  const double a = std::sqrt(2 / std::acos(-1.0));
  Sheet sheet(14);
  const BufferId x = sheet.real({3, 1200}), y = sheet.real({3, 1200}), half = sheet.real({3, 600});
  sheet.run(OpKind::gelu, Role::forward, {x}, {y});
  for (std::size_t i = 0; i < 3600; i += 7) {
    const double v = sheet.values(x)[i];
    // Hendrycks & Gimpel 2016, equation with tanh
    CHECK(sheet.values(y)[i] == Approx(v / 2 * (1 + std::tanh(a * (v + 0.044715 * v * v * v)))).margin(1e-14));
  }
  sheet.run(OpKind::relu, Role::forward, {x}, {y});
  for (std::size_t i = 0; i < 3600; i += 7) CHECK(sheet.values(y)[i] == std::max(sheet.values(x)[i], 0.0));
  sheet.run(OpKind::swiglu, Role::forward, {x}, {half});
  for (std::size_t i = 0; i < 1800; i += 7) {
    const double gate = sheet.values(x)[i / 600 * 1200 + i % 600],
                 value = sheet.values(x)[i / 600 * 1200 + 600 + i % 600];
    CHECK(sheet.values(half)[i] == Approx(gate / (1 + std::exp(-gate)) * value).margin(1e-14));  // Shazeer 2020
  }
}

TEST_CASE("the gradients of gelu, relu and swiglu are their finite differences") {
  for (const OpKind kind : {OpKind::gelu, OpKind::relu, OpKind::swiglu}) {
    CAPTURE(to_text(kind));
    Sheet sheet(15);
    const Shape in{2, 3, 44}, out = kind == OpKind::swiglu ? Shape{2, 3, 22} : in;
    const BufferId x = sheet.real(in), y = sheet.real(out), dy = sheet.real(out), dx = sheet.real(in);
    sheet.run(kind, Role::backward, {dy, x}, {dx});
    check_gradients(sheet, [&] { sheet.run(kind, Role::forward, {x}, {y}); }, y, dy, {{x, dx}});
  }
}

TEST_CASE("add and sum_gradients add") {
  Sheet sheet(16);
  const BufferId a = sheet.real({3, 5}), b = sheet.real({3, 5}), c = sheet.real({3, 5}), d = sheet.real({3, 5});
  sheet.run(OpKind::add, Role::forward, {a, b}, {c});
  sheet.run(OpKind::add, Role::sum_gradients, {a, b}, {d});
  CHECK(sheet.values(c) == sheet.values(d));
  CHECK(sheet.values(c)[4] == sheet.values(a)[4] + sheet.values(b)[4]);
}
