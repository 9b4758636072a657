// One operation at a time on a device, against the CPU backend in fp64 on the very same inputs: values are kept in
// fp64, but only such as the precision under test can hold.
#pragma once
#include <random>
#include <vector>

#include "backend/cpu/operation.h"
#include "backend/cuda/operation.h"

namespace trainwire::test {

struct Precision {
  const char* name;
  DType real;        // activations and parameters
  DType gradient;    // of parameters
  double tolerance;  // largest difference over largest value, of one operation
};

// An operation of `kind` and `role` as the conformance table prints it.
struct Outcome {
  std::string name;
  double error = 0;  // normalised; infinite: an integer differs, or a value is no number
};

class Bench {
 public:
  Bench(cuda::Device& device, const Precision& precision, unsigned seed);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  BufferId real(const Shape& shape);       // standard normal values
  BufferId statistic(const Shape& shape);  // fp32 whatever the precision
  BufferId gradient(const Shape& shape);   // of a parameter
  BufferId state(const Shape& shape);      // of the optimizer: zero
  BufferId integers(const Shape& shape, int bound);
  void copy(BufferId to, BufferId from) { values_[index(to)] = values_[index(from)]; }

  Attributes attributes;
  OptimizerKind optimizer = OptimizerKind::sgd;

  // Runs it in both ways, notes the error of all outputs, and keeps the reference's results.
  void run(OpKind kind, Role role, const std::vector<BufferId>& inputs, const std::vector<BufferId>& outputs,
           bool accumulate = false, const std::vector<BufferId>& masters = {});
  const std::vector<Outcome>& outcomes() const { return outcomes_; }

 private:
  static std::size_t index(BufferId b) { return static_cast<std::size_t>(b); }
  BufferId add(const Shape& shape, DType type, Category category);
  std::vector<char> stored(BufferId b) const;
  std::vector<double> on_device(BufferId b, void* place);
  double error_of(BufferId b, const std::vector<double>& got) const;
  void reference(const Op& op, const std::vector<BufferId>& inputs, const std::vector<BufferId>& outputs);

  cuda::Device& device_;
  Precision precision_;
  std::mt19937 random_;
  cuda::StreamId stream_;
  Program program_;
  std::vector<std::vector<double>> values_;
  std::vector<void*> places_;
  std::vector<ModelParameter> parameters_;
  std::vector<Outcome> outcomes_;
};

// Every operation of the plan language, forward and backward.
std::vector<Outcome> run_all(cuda::Device& device, const Precision& precision);

}  // namespace trainwire::test
