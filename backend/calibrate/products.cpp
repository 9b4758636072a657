// Matrix products by shape, as the linear layers of small models have them: rows (tokens) times inputs times outputs.
#include "backend/calibrate/kernels.h"
#include "backend/cpu/kernels.h"

namespace trainwire::cpu {
namespace {

struct Grid {
  std::vector<std::int64_t> rows, widths;
  double most_flops;  // of one product: larger ones run at the rate of the largest measured
  Effort effort;
};

Grid grid(bool quick) {
  if (quick) return {{64, 512}, {32, 96, 192, 384, 768}, 3e8, {0.001, 1}};
  return {{64, 256, 512, 1024}, {32, 64, 96, 192, 384, 768, 1536, 3072}, 3e8, {0.0015, 1}};
}

// The three products of a linear layer with M rows, K inputs and N outputs, in the form each has.
Sample time_of(ProductForm form, std::int64_t M, std::int64_t N, std::int64_t K, Pool& pool, const Effort& effort) {
  const std::int64_t y = M * N, x = M * K, w = K * N;
  switch (form) {
    case ProductForm::plain:
      return measure([&] { linear_forward<float>(pool.take(y), pool.take(x), pool.take(w), nullptr, M, N, K, false); },
                     effort);
    case ProductForm::transposed_b:
      return measure([&] { linear_input_gradient(pool.take(x), pool.take(y), pool.take(w), M, N, K, false); }, effort);
    case ProductForm::transposed_a:
      return measure(
          [&] {
            linear_weight_gradient<float>(pool.take(w), nullptr, pool.take(y), pool.take(x), M, N, K, false, false);
          },
          effort);
  }
  return {};
}

// What the form is as a product C(m,n) = A(m,k) B(k,n).
MeasuredProduct shape_of(ProductForm form, std::int64_t M, std::int64_t N, std::int64_t K) {
  switch (form) {
    case ProductForm::plain:
      return {form, M, N, K, 0};
    case ProductForm::transposed_b:
      return {form, M, K, N, 0};
    case ProductForm::transposed_a:
      break;
  }
  return {form, K, N, M, 0};
}

}  // namespace

// The whole grid several times over, so that a slow second of a shared machine meets all shapes and forms alike.
std::vector<MeasuredProduct> measure_products(Pool& pool, bool quick, Spreads& spreads) {
  constexpr int passes = 3;
  const Grid g = grid(quick);
  std::vector<MeasuredProduct> products;
  std::vector<std::vector<double>> seconds;
  for (int pass = 0; pass < passes; ++pass) {
    std::size_t at = 0;
    for (const std::int64_t M : g.rows)
      for (const std::int64_t N : g.widths)
        for (const std::int64_t K : g.widths)
          for (const ProductForm form : {ProductForm::plain, ProductForm::transposed_b, ProductForm::transposed_a}) {
            if (2.0 * static_cast<double>(M * N * K) > g.most_flops) continue;
            if (pass == 0) {
              products.push_back(shape_of(form, M, N, K));
              seconds.emplace_back();
            }
            seconds[at++].push_back(time_of(form, M, N, K, pool, g.effort).seconds);
          }
  }
  for (std::size_t i = 0; i < products.size(); ++i) {
    const Sample sample = median_of(seconds[i]);
    spreads.add(sample);
    products[i].seconds = sample.seconds;
  }
  return products;
}

}  // namespace trainwire::cpu
