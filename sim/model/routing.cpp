// How unevenly a router loads its experts, as an input.
#include <algorithm>
#include <cmath>
#include <random>

#include "sim/model/model.h"

namespace trainwire {

std::vector<double> distribution_over_experts(std::int64_t experts, double imbalance, std::int64_t seed) {
  const auto n = static_cast<std::size_t>(experts);
  std::vector<double> share(n, 1.0 / static_cast<double>(experts));
  if (imbalance <= 1 || experts < 2) return share;
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  std::vector<double> draw(n);
  for (double& x : draw) x = static_cast<double>(random() >> 11) * 0x1.0p-53;
  // Weights exp(power · draw): the larger the power, the more the busiest has over the mean.
  const auto spread = [&](double power) {
    double sum = 0;
    for (std::size_t e = 0; e < n; ++e) sum += share[e] = std::exp(power * (draw[e] - 1));
    for (double& s : share) s /= sum;
    return *std::max_element(share.begin(), share.end()) * static_cast<double>(experts);
  };
  double low = 0, high = 1;
  while (spread(high) < imbalance && high < 1e6) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (spread(middle) < imbalance ? low : high) = middle;
  }
  spread(high);
  return share;
}

}  // namespace trainwire
