// CPU time of an operation from what `calibrate` measured with the backend's own kernels.
#include "sim/cost/cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/cost/duration.h"

namespace trainwire {
namespace {

const Attributes& attributes_of(const Program& program, const Op& op) {
  static const Attributes none;
  return program.attributes.empty() ? none : program.attributes[op.attributes];
}

double elements(const Program& program, BufferId b) { return static_cast<double>(program.tensor(b).shape.elements()); }

bool is_parameter_like(Category c) {
  return c == Category::parameter || c == Category::gradient || c == Category::optimizer;
}

double measured(const CpuMeasurements& cpu, const std::string& key, double x, double fallback) {
  const auto found = cpu.kernels.find(key);
  return found == cpu.kernels.end() ? fallback : found->second.at(x);
}

double bytes_seconds(double bytes, const DeviceSpec& device) {
  return bytes / (device.memory_bandwidth.value.value * device.memory_efficiency.value);
}

// Weight gradients may come with the bias' gradient, which is a pass over dy of its own.
double linear_seconds(const Program& program, const Op& op, const Work& w, const DeviceSpec& device) {
  const double product = product_seconds(device.cpu, w.form, w.m, w.n, w.k);
  if (op.role != Role::weight_gradient || program.outputs(op).size() < 2) return product;
  const double dy = elements(program, program.inputs(op)[0]);
  return product + measured(device.cpu, "bias/backward", dy, bytes_seconds(4 * dy, device));
}

// Head by head. The measured head sizes on both sides of this one, in proportion to log(d).
double attention_seconds(const Program& program, const Op& op, const Work& w, const DeviceSpec& device) {
  const Attributes& a = attributes_of(program, op);
  const std::string head = fmt::format("attention-{}-", a.causal ? "causal" : "full");
  const std::string role = fmt::format("/{}", to_text(op.role));
  const double d = static_cast<double>(a.head_dim), sequence = static_cast<double>(w.m);
  double low_d = 0, low = 0, high_d = 0, high = 0;
  for (const double size : {8.0, 16.0, 32.0, 64.0, 128.0, 256.0}) {
    const double y = measured(device.cpu, fmt::format("{}{}{}", head, size, role), sequence, -1);
    if (y < 0) continue;
    if (size <= d || low_d == 0) low_d = size, low = y;
    if (high_d < d) high_d = size, high = y;
  }
  const double heads = static_cast<double>(w.count) / (op.role == Role::forward ? 2 : 5);
  if (low_d == 0) return bytes_seconds(w.bytes.value, device);
  if (high_d <= low_d) return heads * low * std::max(1.0, d / low_d);
  const double share = std::clamp(std::log(d / low_d) / std::log(high_d / low_d), 0.0, 1.0);
  return heads * std::exp(std::log(low) * (1 - share) + std::log(high) * share);
}

// Image by image: unfold (or fold the gradient), then a product. 1×1 convolutions of stride 1 need no unfolding.
double conv_seconds(const Program& program, const Op& op, const Work& w, const DeviceSpec& device) {
  const Attributes& a = attributes_of(program, op);
  const Tensor& first = program.tensor(program.inputs(op)[0]);
  const std::int64_t images = first.shape[0];
  std::int64_t m = w.m, n = w.n, k = w.k;
  (op.role == Role::weight_gradient ? k : n) /= images;
  const double product = product_seconds(device.cpu, w.form, m, n, k);
  double unfold = 0;
  if (a.kernel > 1 || a.stride > 1 || a.padding > 0) {
    const double unfolded = op.role == Role::forward          ? static_cast<double>(n * k)
                            : op.role == Role::input_gradient ? static_cast<double>(m * n)
                                                              : static_cast<double>(n * k);
    const std::string key = op.role == Role::input_gradient ? "fold/backward" : "unfold/forward";
    unfold = measured(device.cpu, key, unfolded, bytes_seconds(8 * unfolded, device));
  }
  return static_cast<double>(images) * (product + unfold);
}

// Tables that a gradient does not add to are cleared first, whatever the number of tokens.
double clearing_seconds(const Program& program, const Op& op, const DeviceSpec& device) {
  if (op.accumulate || op.role != Role::backward) return 0;
  if (op.kind != OpKind::embedding && op.kind != OpKind::position) return 0;
  const double table = elements(program, program.outputs(op)[0]);
  return measured(device.cpu, "clear/backward", table, bytes_seconds(4 * table, device));
}

}  // namespace

std::string kernel_key(const Program& program, const Op& op) {
  if (op.role == Role::sum_gradients) return "add/forward";
  if (op.kind != OpKind::optimizer) return fmt::format("{}/{}", to_text(op.kind), to_text(op.role));
  const std::size_t parameters = program.inputs(op).size();
  return fmt::format("optimizer-{}-states/update",
                     program.outputs(op).size() / std::max<std::size_t>(1, parameters) - 1);
}

double kernel_size(const Program& program, const Op& op) {
  double size = 0;
  if (op.kind == OpKind::optimizer) {
    for (const BufferId b : program.inputs(op)) size += elements(program, b);
    return size;
  }
  if (op.kind == OpKind::cross_entropy && op.role == Role::forward) return elements(program, program.inputs(op)[1]);
  for (const auto& operands : {program.inputs(op), program.outputs(op)})
    for (const BufferId b : operands)
      if (!is_parameter_like(program.tensor(b).category) || op.role == Role::sum_gradients)
        size = std::max(size, elements(program, b));
  return size;
}

double product_seconds(const CpuMeasurements& cpu, ProductForm form, std::int64_t m, std::int64_t n, std::int64_t k) {
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  double weights = 0, sum = 0;
  for (const MeasuredProduct& p : cpu.products) {
    const double log_m = std::log(static_cast<double>(m) / static_cast<double>(p.m));
    const double log_n = std::log(static_cast<double>(n) / static_cast<double>(p.n));
    const double log_k = std::log(static_cast<double>(k) / static_cast<double>(p.k));
    const double other_form = p.form == form ? 0 : 4;  // a last resort
    const double distance = log_m * log_m + log_n * log_n + log_k * log_k + other_form;
    const double rate =
        2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) / p.seconds;
    const double weight = 1 / (1e-9 + distance * distance);
    weights += weight;
    sum += weight * std::log(rate);
  }
  if (weights <= 0) throw std::logic_error("no matrix product was measured on this CPU");
  return flops / std::exp(sum / weights);
}

Seconds cpu_duration(const Program& program, const Op& op, const DeviceSpec& device) {
  const Work w = work_of(program, op);
  double seconds = 0;
  switch (op.kind) {
    case OpKind::linear:
      seconds = linear_seconds(program, op, w, device);
      break;
    case OpKind::expert_linear:
      seconds = static_cast<double>(w.count) * product_seconds(device.cpu, w.form, w.m, w.n, w.k);
      break;
    case OpKind::attention:
      seconds = attention_seconds(program, op, w, device);
      break;
    case OpKind::conv2d:
      seconds = conv_seconds(program, op, w, device);
      break;
    default:
      seconds = measured(device.cpu, kernel_key(program, op), kernel_size(program, op),
                         bytes_seconds(w.bytes.value, device)) +
                clearing_seconds(program, op, device);
  }
  return device.cpu.operation_overhead + Seconds(seconds);
}

}  // namespace trainwire
