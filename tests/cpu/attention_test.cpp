// Attention and rotary positions: values against loops over the definition, gradients against finite differences.
#include <cmath>

#include "tests/cpu/sheet.h"

using namespace trainwire;
using namespace trainwire::test;

namespace {

struct AttentionCase {
  std::int64_t B, S;
  int heads, kv_heads, head_dim;
  bool causal;
};
const AttentionCase attention_cases[] = {
    {2, 5, 2, 2, 4, false},  {2, 5, 4, 2, 4, true},  {1, 7, 3, 1, 2, true},
    {1, 1, 1, 1, 3, true},   {1, 70, 2, 1, 2, true},  // more rows than one block
    {1, 66, 1, 1, 2, false},
};

Shape qkv_shape(const AttentionCase& c) { return {c.B, c.S, (c.heads + 2 * c.kv_heads) * c.head_dim}; }

void set(Attributes& a, const AttentionCase& c) {
  a.heads = c.heads;
  a.kv_heads = c.kv_heads;
  a.head_dim = c.head_dim;
  a.causal = c.causal;
}

// One element of a q, k or v part: `part` 0…g−1 the queries of a KV head, g its key, g+1 its value.
double element(Sheet& sheet, BufferId qkv, const AttentionCase& c, std::int64_t b, std::int64_t s, int kv, int part,
               int i) {
  const std::int64_t width = qkv_shape(c)[2], g = c.heads / c.kv_heads;
  return sheet.values(qkv)[static_cast<std::size_t>((b * c.S + s) * width + (kv * (g + 2) + part) * c.head_dim + i)];
}

// softmax(q k / sqrt(d)) v of one query (Vaswani et al. 2017), and the log of its sum.
std::vector<double> naive_row(Sheet& sheet, BufferId qkv, const AttentionCase& c, std::int64_t b, std::int64_t s,
                              int head, double& log_sum) {
  const int g = c.heads / c.kv_heads, kv = head / g;
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t t = 0; t < (c.causal ? s + 1 : c.S); ++t) {
    double score = 0;
    for (int i = 0; i < c.head_dim; ++i)
      score += element(sheet, qkv, c, b, s, kv, head % g, i) * element(sheet, qkv, c, b, t, kv, g, i);
    weights.push_back(std::exp(score / std::sqrt(c.head_dim)));
    sum += weights.back();
  }
  log_sum = std::log(sum);
  std::vector<double> out(static_cast<std::size_t>(c.head_dim));
  for (std::size_t t = 0; t < weights.size(); ++t)
    for (int i = 0; i < c.head_dim; ++i)
      out[static_cast<std::size_t>(i)] +=
          weights[t] / sum * element(sheet, qkv, c, b, static_cast<std::int64_t>(t), kv, g + 1, i);
  return out;
}

}  // namespace

TEST_CASE("attention is the softmax of scaled scores times the values, for grouped heads and causal masks") {
  for (const AttentionCase& c : attention_cases) {
    Sheet sheet(21);
    set(sheet.attributes, c);
    const BufferId qkv = sheet.real(qkv_shape(c)), o = sheet.real({c.B, c.S, c.heads * c.head_dim});
    const BufferId lse = sheet.real({c.B, c.heads, c.S});
    sheet.run(OpKind::attention, Role::forward, {qkv}, {o, lse});
    double worst = 0;
    for (std::int64_t b = 0; b < c.B; ++b)
      for (std::int64_t s = 0; s < c.S; ++s)
        for (int head = 0; head < c.heads; ++head) {
          double log_sum = 0;
          const std::vector<double> row = naive_row(sheet, qkv, c, b, s, head, log_sum);
          worst = std::max(
              worst, std::abs(log_sum - sheet.values(lse)[static_cast<std::size_t>((b * c.heads + head) * c.S + s)]));
          for (int i = 0; i < c.head_dim; ++i) {
            const auto at = static_cast<std::size_t>(((b * c.S + s) * c.heads + head) * c.head_dim + i);
            worst = std::max(worst, std::abs(row[static_cast<std::size_t>(i)] - sheet.values(o)[at]));
          }
        }
    CHECK(worst < 1e-12);
  }
}

TEST_CASE("the gradient of attention is its finite difference") {
  for (const AttentionCase& c : attention_cases) {
    CAPTURE(c.S, c.heads, c.kv_heads, c.causal);
    Sheet sheet(22);
    set(sheet.attributes, c);
    const Shape out{c.B, c.S, c.heads * c.head_dim};
    const BufferId qkv = sheet.real(qkv_shape(c)), o = sheet.real(out), lse = sheet.real({c.B, c.heads, c.S});
    const BufferId d_o = sheet.real(out), dqkv = sheet.real(qkv_shape(c));
    const auto forward = [&] { sheet.run(OpKind::attention, Role::forward, {qkv}, {o, lse}); };
    forward();
    sheet.run(OpKind::attention, Role::backward, {d_o, qkv, o, lse}, {dqkv});
    check_gradients(sheet, forward, o, d_o, {{qkv, dqkv}});
  }
}

TEST_CASE("rotary turns pairs of a query or key by position over theta^(2i/d) and leaves values alone") {
  const AttentionCase c{2, 3, 4, 2, 6, true};
  Sheet sheet(23);
  set(sheet.attributes, c);
  const BufferId x = sheet.real(qkv_shape(c)), y = sheet.real(qkv_shape(c));
  sheet.run(OpKind::rotary, Role::forward, {x}, {y});
  const int g = 2, half = c.head_dim / 2;
  double worst = 0;
  for (std::int64_t b = 0; b < c.B; ++b)
    for (std::int64_t s = 0; s < c.S; ++s)
      for (int kv = 0; kv < c.kv_heads; ++kv)
        for (int part = 0; part < g + 2; ++part)
          for (int i = 0; i < half; ++i) {
            // Su et al. 2021, equation 34, with the halves of a head as the pairs
            const double angle = part == g + 1 ? 0 : static_cast<double>(s) * std::pow(10000.0, -2.0 * i / c.head_dim);
            const double u = element(sheet, x, c, b, s, kv, part, i),
                         v = element(sheet, x, c, b, s, kv, part, i + half);
            worst = std::max(
                worst, std::abs(element(sheet, y, c, b, s, kv, part, i) - (u * std::cos(angle) - v * std::sin(angle))));
            worst = std::max(worst, std::abs(element(sheet, y, c, b, s, kv, part, i + half) -
                                             (v * std::cos(angle) + u * std::sin(angle))));
          }
  CHECK(worst < 1e-13);
}

TEST_CASE("the gradient of rotary is its finite difference, also in place") {
  const AttentionCase c{2, 3, 4, 2, 6, true};
  Sheet sheet(24);
  set(sheet.attributes, c);
  const BufferId x = sheet.real(qkv_shape(c)), y = sheet.real(qkv_shape(c));
  const BufferId dy = sheet.real(qkv_shape(c)), dx = sheet.real(qkv_shape(c)), copy = sheet.real(qkv_shape(c));
  sheet.run(OpKind::rotary, Role::backward, {dy}, {dx});
  check_gradients(sheet, [&] { sheet.run(OpKind::rotary, Role::forward, {x}, {y}); }, y, dy, {{x, dx}});
  sheet.values(copy) = sheet.values(dy);
  sheet.run(OpKind::rotary, Role::backward, {copy}, {copy});
  CHECK(sheet.values(copy) == sheet.values(dx));
}
