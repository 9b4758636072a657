// How one time is measured: repeated, median, spread; and the memory that measured kernels work on.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

namespace trainwire::cpu {

struct Sample {
  double seconds = 0;  // median
  double spread = 0;   // (third - first quartile) / median
};

struct Effort {
  double seconds = 0.01;  // to spend on one measurement
  int repetitions = 5;    // at least
};

// The time of one call. Calls that are too short for the clock are timed several at once.
Sample measure(const std::function<void()>& call, const Effort& effort);
Sample median_of(std::vector<double> seconds);

// Operands for kernels: each one other memory, going round a pool the size of a small model's step, so that operands
// are as cold in the caches as they are when the step comes round to them.
class Pool {
 public:
  explicit Pool(std::int64_t elements);
  float* take(std::int64_t elements);
  const std::int32_t* tokens() const { return tokens_.data(); }  // token_count of them, below vocabulary
  static constexpr std::int64_t token_count = 1 << 16, vocabulary = 512;

 private:
  std::vector<float> memory_;
  std::vector<std::int32_t> tokens_;
  std::size_t next_ = 0;
};

}  // namespace trainwire::cpu
