// A hand-made program for tests of single operations in fp64: tensors with values, operations run one by one, and
// gradients checked against central finite differences.
#pragma once
#include <functional>
#include <random>
#include <vector>

#include "backend/cpu/operation.h"
#include "tests/test.h"

namespace trainwire::test {

class Sheet {
 public:
  explicit Sheet(unsigned seed) : random_(seed) {}

  // A tensor of standard normal values, or of integers in [0, bound).
  BufferId real(const Shape& shape) {
    const BufferId b = add(shape, DType::fp64);
    std::normal_distribution<double> normal;
    for (double& v : values(b)) v = normal(random_);
    return b;
  }
  // Rows that lie in parts, as routing lays them.
  BufferId routed(const Shape& shape, const Routed& how) {
    const BufferId b = real(shape);
    Tensor& tensor = program_.tensors[static_cast<std::size_t>(b)];
    tensor.routed = how;
    values(b).assign(static_cast<std::size_t>(tensor.storage()), 0.0);
    return b;
  }
  BufferId integers(const Shape& shape, int bound) {
    const BufferId b = add(shape, DType::int32);
    for (std::int32_t& v : integers(b)) v = static_cast<std::int32_t>(random_() % static_cast<unsigned>(bound));
    return b;
  }
  // Marks dimension `dim` as shared out along the tensor axis.
  void shard(BufferId b, int dim) {
    program_.tensors[static_cast<std::size_t>(b)].placement[static_cast<std::size_t>(Axis::tensor)] = {
        Placement::Kind::shard, static_cast<std::int8_t>(dim)};
  }

  std::vector<double>& values(BufferId b) { return reals_[static_cast<std::size_t>(b)]; }
  std::vector<std::int32_t>& integers(BufferId b) { return integers_[static_cast<std::size_t>(b)]; }
  const Shape& shape(BufferId b) const { return program_.tensor(b).shape; }

  Attributes attributes;
  cpu::OperationContext<double> context;

  void run(OpKind kind, Role role, const std::vector<BufferId>& inputs, const std::vector<BufferId>& outputs,
           bool accumulate = false) {
    program_.attributes = {attributes};
    program_.operands = inputs;
    program_.operands.insert(program_.operands.end(), outputs.begin(), outputs.end());
    Op op;
    op.kind = kind;
    op.role = role;
    op.accumulate = accumulate;
    op.inputs = {0, static_cast<std::uint32_t>(inputs.size())};
    op.outputs = {op.inputs.count, static_cast<std::uint32_t>(outputs.size())};
    std::vector<void*> in, out;
    for (const BufferId b : inputs) in.push_back(pointer(b));
    for (const BufferId b : outputs) out.push_back(pointer(b));
    cpu::run_operation<double>(program_, op, in, out, context);
  }

  // The largest difference between `gradient` and the finite differences of sum(dy ∘ y) by `x`, relative to the
  // largest gradient.
  double gradient_error(const std::function<void()>& forward, BufferId y, BufferId dy, BufferId x, BufferId gradient) {
    constexpr double h = 1e-5;  // error h² of the formula and 1e-16/h of the rounding, both ~ 1e-10
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < values(x).size(); ++i) {
      const double before = values(x)[i];
      values(x)[i] = before + h;
      const double up = objective(forward, y, dy);
      values(x)[i] = before - h;
      const double down = objective(forward, y, dy);
      values(x)[i] = before;
      const double g = values(gradient)[i];
      worst = std::max(worst, std::abs((up - down) / (2 * h) - g));
      largest = std::max(largest, std::abs(g));
    }
    forward();
    return worst / largest;
  }

 private:
  BufferId add(const Shape& shape, DType type) {
    const auto b = static_cast<BufferId>(program_.buffers.size());
    Tensor tensor;
    tensor.shape = tensor.global = shape;
    tensor.dtype = type;
    tensor.parameter = b;
    program_.tensors.push_back(tensor);
    program_.buffers.push_back({b, -1});
    const auto elements = static_cast<std::size_t>(shape.elements());
    reals_.emplace_back(type == DType::int32 ? 0 : elements);
    integers_.emplace_back(type == DType::int32 ? elements : 0);
    return b;
  }
  void* pointer(BufferId b) {
    if (program_.tensor(b).dtype == DType::int32) return integers(b).data();
    return values(b).data();
  }
  double objective(const std::function<void()>& forward, BufferId y, BufferId dy) {
    forward();
    double sum = 0;
    for (std::size_t i = 0; i < values(y).size(); ++i) sum += values(y)[i] * values(dy)[i];
    return sum;
  }

  std::mt19937 random_;
  Program program_;
  std::vector<std::vector<double>> reals_;
  std::vector<std::vector<std::int32_t>> integers_;
};

constexpr double gradient_tolerance = 1e-7;

// Checks a list of (x, gradient of x) after forward and backward ran.
inline void check_gradients(Sheet& sheet, const std::function<void()>& forward, BufferId y, BufferId dy,
                            const std::vector<std::pair<BufferId, BufferId>>& pairs) {
  for (const auto& [x, gradient] : pairs) {
    CAPTURE(x);
    CHECK(sheet.gradient_error(forward, y, dy, x, gradient) < gradient_tolerance);
  }
}

inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

}  // namespace trainwire::test
