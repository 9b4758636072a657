#include "backend/calibrate/measure.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <stdexcept>

namespace trainwire::cpu {
namespace {

constexpr double shortest = 20e-6;  // seconds that the clock times well

double seconds_of(const std::function<void()>& call, int times) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) call();
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(end - start).count() / times;
}

}  // namespace

Sample median_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](std::size_t quarters) { return seconds[(seconds.size() - 1) * quarters / 4]; };
  return {at(2), at(2) > 0 ? (at(3) - at(1)) / at(2) : 0};
}

Sample measure(const std::function<void()>& call, const Effort& effort) {
  const double first = seconds_of(call, 1);  // warms caches and pages; decides how many at once
  const double guess = std::min(first, seconds_of(call, 1));
  const int times = std::max(1, static_cast<int>(shortest / std::max(guess, 1e-8)));
  const double rounds = effort.seconds / (std::max(guess, 1e-8) * times);
  const int repetitions = std::clamp(static_cast<int>(rounds), effort.repetitions, 64);
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) seconds.push_back(seconds_of(call, times));
  return median_of(std::move(seconds));
}

Pool::Pool(std::int64_t elements) : memory_(static_cast<std::size_t>(elements)), tokens_(token_count) {
  std::mt19937 random(1);
  std::normal_distribution<float> value(0, 1);
  std::vector<float> block(4096);
  for (float& x : block) x = value(random);
  for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = block[(i * 17) % block.size()];
  for (std::int32_t& t : tokens_) t = static_cast<std::int32_t>(random() % vocabulary);
}

float* Pool::take(std::int64_t elements) {
  const auto n = static_cast<std::size_t>((elements + 15) / 16 * 16);
  if (n > memory_.size()) throw std::logic_error("calibrate: an operand is larger than the pool");
  if (next_ + n > memory_.size()) next_ = 0;
  float* result = memory_.data() + next_;
  next_ += n;
  return result;
}

}  // namespace trainwire::cpu
