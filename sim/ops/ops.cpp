#include "sim/ops/ops.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainwire {

std::string_view to_text(DType t) {
  static constexpr std::array<std::string_view, dtype_count> names{"fp64", "fp32", "tf32", "bf16",
                                                                   "fp16", "fp8",  "int32"};
  return names[static_cast<std::size_t>(t)];
}

double bytes_of(DType t) {
  static constexpr std::array<double, dtype_count> sizes{8, 4, 4, 2, 2, 1, 4};
  return sizes[static_cast<std::size_t>(t)];
}

Shape::Shape(std::initializer_list<std::int64_t> dims) : rank(static_cast<int>(dims.size())) {
  std::copy(dims.begin(), dims.end(), dim.begin());
}

std::int64_t Shape::elements() const {
  std::int64_t n = 1;
  for (int i = 0; i < rank; ++i) n *= (*this)[i];
  return n;
}

std::string to_text(const Shape& s) {
  std::string text = "(";
  for (int i = 0; i < s.rank; ++i) text += fmt::format("{}{}", i > 0 ? ", " : "", s[i]);
  return text + ")";
}

std::string_view to_text(OpKind k) {
  static constexpr std::array<std::string_view, op_kind_count> names{
      "embedding",      "position",   "layer_norm",    "rms_norm", "linear",     "bias",
      "rotary",         "attention",  "keys_values",   "qk_norm",  "router",     "dispatch",
      "expert_linear",  "combine",    "gelu",          "swiglu",   "relu",       "add",
      "logits_max",     "logits_sum", "cross_entropy", "conv2d",   "batch_norm", "max_pool",
      "mean_pool",      "optimizer",  "squared_norm",  "clip",     "all_reduce", "all_gather",
      "reduce_scatter", "all_to_all", "broadcast",     "permute",  "send",       "recv"};
  return names[static_cast<std::size_t>(k)];
}

std::string_view to_text(Role r) {
  static constexpr std::array<std::string_view, 6> names{"forward",         "backward",      "input_gradient",
                                                         "weight_gradient", "sum_gradients", "update"};
  return names[static_cast<std::size_t>(r)];
}

}  // namespace trainwire
