// One computing operation of a plan as kernel launches and matrix products: the table from (kind, role) to them.
#pragma once
#include <span>

#include "backend/cuda/device.h"
#include "sim/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace trainwire::cuda {

Type type_of(DType t);

// What the operands do not tell.
struct OperationContext {
  std::array<int, axis_count> coordinate{};
  std::span<const ModelParameter> parameters;
  OptimizerKind optimizer = OptimizerKind::sgd;
  double learning_rate = 1e-3, weight_decay = 0.01;  // weight decay: PyTorch's AdamW default; the others: none
  double loss_scale = 1;                             // fp16: gradients are this much larger, or they would vanish
  bool tf32 = false;
  std::int64_t step = 1;
  std::size_t shared_bytes = 48 * 1024;  // a block can have
};

// Where work goes: to a stream of a device, with scratch memory that lasts for the operation. Without a device it only
// finds out how much scratch memory is needed.
class Sink {
 public:
  Sink() = default;
  Sink(Device& device, StreamId stream, char* scratch, void* product_scratch, std::size_t product_bytes)
      : device_(&device), stream_(stream), base_(scratch), product_(product_scratch), product_bytes_(product_bytes) {}
  void begin() { used_ = 0; }
  void launch(const Launch& l) {
    if (device_ != nullptr) device_->launch(stream_, l);
  }
  void multiply(const Product& p) {
    if (device_ != nullptr) device_->multiply(stream_, p, product_, product_bytes_);
  }
  void* scratch(std::int64_t bytes) {
    void* p = base_ != nullptr ? base_ + used_ : nullptr;
    used_ += (static_cast<std::size_t>(bytes) + 255) / 256 * 256;
    most_ = used_ > most_ ? used_ : most_;
    return p;
  }
  std::size_t most() const { return most_; }

 private:
  Device* device_ = nullptr;
  StreamId stream_ = 0;
  char* base_ = nullptr;
  void* product_ = nullptr;
  std::size_t product_bytes_ = 0, used_ = 0, most_ = 0;
};

// Operands in the order of the operation's inputs and outputs; backend/cpu/README.md lists what each (kind, role) reads
// and writes. Throws std::logic_error for a pair that has no kernel.
void run_operation(const Program& program, const Op& op, std::span<void* const> inputs, std::span<void* const> outputs,
                   const OperationContext& context, Sink& sink);

bool has_kernel(OpKind kind, Role role);

}  // namespace trainwire::cuda
