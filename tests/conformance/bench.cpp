#include "tests/conformance/bench.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cuda/kernels/types.h"

namespace trainwire::test {
namespace {

double rounded(double value, DType type) {
  switch (type) {
    case DType::bf16:
      return static_cast<double>(static_cast<float>(cuda::bf16(static_cast<float>(value))));
    case DType::fp16:
      return static_cast<double>(static_cast<float>(cuda::fp16(static_cast<float>(value))));
    case DType::fp32:
      return static_cast<double>(static_cast<float>(value));
    default:
      return value;
  }
}

template <class T>
void write(std::vector<char>& bytes, std::size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
}
template <class T>
T read(const std::vector<char>& bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

std::string text_of(OpKind kind, Role role) { return std::string(to_text(kind)) + " " + std::string(to_text(role)); }

}  // namespace

Bench::Bench(cuda::Device& device, const Precision& precision, unsigned seed)
    : device_(device), precision_(precision), random_(seed), stream_(device.make_stream(false)) {}

Bench::~Bench() {
  for (void* p : places_) device_.release(p);
}

BufferId Bench::add(const Shape& shape, DType type, Category category) {
  const auto b = static_cast<BufferId>(program_.buffers.size());
  Tensor tensor;
  tensor.shape = tensor.global = shape;
  tensor.dtype = type;
  tensor.category = category;
  tensor.parameter = b;
  program_.tensors.push_back(tensor);
  program_.buffers.push_back({b, -1});
  values_.emplace_back(static_cast<std::size_t>(shape.elements()));
  places_.push_back(device_.allocate(static_cast<std::size_t>(shape.elements()) * sizeof(double)));
  parameters_.push_back({"p", shape, -1, 0, 0, true});
  return b;
}

BufferId Bench::real(const Shape& shape) {
  const BufferId b = add(shape, precision_.real, Category::activation);
  std::normal_distribution<double> normal;
  for (double& v : values_.back()) v = rounded(normal(random_), precision_.real);
  return b;
}
BufferId Bench::statistic(const Shape& shape) {
  return add(shape, precision_.real == DType::fp64 ? DType::fp64 : DType::fp32, Category::activation);
}
BufferId Bench::gradient(const Shape& shape) {
  const BufferId b = add(shape, precision_.gradient, Category::gradient);
  std::normal_distribution<double> normal;
  for (double& v : values_.back()) v = rounded(normal(random_), precision_.gradient);
  return b;
}
BufferId Bench::state(const Shape& shape) {
  return add(shape, precision_.real == DType::fp64 ? DType::fp64 : DType::fp32, Category::optimizer);
}
BufferId Bench::integers(const Shape& shape, int bound) {
  const BufferId b = add(shape, DType::int32, Category::input);
  for (double& v : values_.back()) v = static_cast<double>(random_() % static_cast<unsigned>(bound));
  return b;
}

std::vector<char> Bench::stored(BufferId b) const {
  const auto& values = values_[index(b)];
  const cuda::Type type = cuda::type_of(program_.tensor(b).dtype);
  std::vector<char> bytes(values.size() * static_cast<std::size_t>(cuda::size_of(type)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == cuda::Type::int32) write(bytes, i, static_cast<std::int32_t>(values[i]));
    if (type == cuda::Type::fp64) write(bytes, i, values[i]);
    if (type == cuda::Type::fp32) write(bytes, i, static_cast<float>(values[i]));
    if (type == cuda::Type::bf16) write(bytes, i, cuda::bf16(static_cast<float>(values[i])));
    if (type == cuda::Type::fp16) write(bytes, i, cuda::fp16(static_cast<float>(values[i])));
  }
  return bytes;
}

std::vector<double> Bench::on_device(BufferId b, void* place) {
  const cuda::Type type = cuda::type_of(program_.tensor(b).dtype);
  std::vector<double> values(values_[index(b)].size());
  std::vector<char> bytes(values.size() * static_cast<std::size_t>(cuda::size_of(type)));
  device_.download(bytes.data(), place, bytes.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == cuda::Type::int32) values[i] = read<std::int32_t>(bytes, i);
    if (type == cuda::Type::fp64) values[i] = read<double>(bytes, i);
    if (type == cuda::Type::fp32) values[i] = static_cast<double>(read<float>(bytes, i));
    if (type == cuda::Type::bf16) values[i] = static_cast<double>(static_cast<float>(read<cuda::bf16>(bytes, i)));
    if (type == cuda::Type::fp16) values[i] = static_cast<double>(static_cast<float>(read<cuda::fp16>(bytes, i)));
  }
  return values;
}

double Bench::error_of(BufferId b, const std::vector<double>& got) const {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const auto& wanted = values_[index(b)];
  double worst = 0, largest = 1e-30;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!std::isfinite(got[i])) return infinite;
    worst = std::max(worst, std::abs(got[i] - wanted[i]));
    largest = std::max(largest, std::abs(wanted[i]));
  }
  if (program_.tensor(b).dtype == DType::int32) return worst == 0 ? 0 : infinite;
  return worst / largest;
}

void Bench::reference(const Op& op, const std::vector<BufferId>& inputs, const std::vector<BufferId>& outputs) {
  std::vector<std::vector<std::int32_t>> integers;
  integers.reserve(inputs.size() + outputs.size());
  std::vector<void*> in, out;
  const auto place = [&](BufferId b) -> void* {
    auto& values = values_[index(b)];
    if (program_.tensor(b).dtype != DType::int32) return values.data();
    integers.emplace_back(values.begin(), values.end());
    return integers.back().data();
  };
  for (const BufferId b : inputs) in.push_back(place(b));
  for (const BufferId b : outputs) out.push_back(place(b));
  cpu::OperationContext<double> context;
  context.optimizer = optimizer;
  context.parameters = parameters_;
  cpu::run_operation<double>(program_, op, in, out, context);
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (program_.tensor(outputs[o]).dtype == DType::int32) {
      const auto* from = static_cast<const std::int32_t*>(out[o]);
      auto& values = values_[index(outputs[o])];
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = from[i];
    }
}

void Bench::run(OpKind kind, Role role, const std::vector<BufferId>& inputs, const std::vector<BufferId>& outputs,
                bool accumulate, const std::vector<BufferId>& masters) {
  std::vector<BufferId> all = outputs;
  all.insert(all.end(), masters.begin(), masters.end());
  program_.attributes = {attributes};
  program_.operands = inputs;
  program_.operands.insert(program_.operands.end(), all.begin(), all.end());
  Op op;
  op.kind = kind;
  op.role = role;
  op.accumulate = accumulate;
  op.inputs = {0, static_cast<std::uint32_t>(inputs.size())};
  op.outputs = {op.inputs.count, static_cast<std::uint32_t>(all.size())};
  std::vector<void*> in, out;
  for (const BufferId b : program_.operands) {
    const std::vector<char> bytes = stored(b);
    device_.upload(places_[index(b)], bytes.data(), bytes.size());
  }
  for (const BufferId b : inputs) in.push_back(places_[index(b)]);
  for (const BufferId b : all) out.push_back(places_[index(b)]);
  cuda::OperationContext context;
  context.optimizer = optimizer;
  context.parameters = parameters_;
  context.shared_bytes = device_.facts().shared_bytes;
  cuda::Sink measuring;
  cuda::run_operation(program_, op, in, out, context, measuring);
  constexpr std::size_t product_bytes = 4 << 20;
  auto* scratch = static_cast<char*>(device_.allocate(measuring.most() + 256));
  void* products = device_.allocate(product_bytes);
  cuda::Sink sink(device_, stream_, scratch, products, product_bytes);
  cuda::run_operation(program_, op, in, out, context, sink);
  device_.synchronise();
  reference(op, inputs, outputs);
  Outcome outcome{text_of(kind, role), 0};
  for (const BufferId b : outputs)
    outcome.error = std::max(outcome.error, error_of(b, on_device(b, places_[index(b)])));
  outcomes_.push_back(outcome);
  device_.release(scratch);
  device_.release(products);
  for (const BufferId b : outputs)
    for (double& v : values_[index(b)]) v = rounded(v, program_.tensor(b).dtype);
}

}  // namespace trainwire::test
