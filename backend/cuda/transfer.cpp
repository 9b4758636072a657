#include "backend/cuda/transfer.h"

#include <fmt/format.h>

#include <stdexcept>

#include "backend/cuda/operation.h"

namespace trainwire::cuda {
namespace {

// The elements of operands that lie one after the other in memory, as one region.
struct Region {
  char* data = nullptr;
  std::int64_t elements = 0;
  Type type = Type::fp32;
};
Region region_of(const Program& program, const Op& op, std::span<const BufferId> buffers,
                 std::span<void* const> pointers) {
  Region region;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Tensor& t = program.tensor(buffers[i]);
    char* data = static_cast<char*>(pointers[i]);
    if (i == 0) region = {data, 0, type_of(t.dtype)};
    if (region.data + region.elements * size_of(region.type) != data || type_of(t.dtype) != region.type)
      throw std::logic_error(op_name(program, op) + ": its operands do not lie one after the other");
    region.elements += t.shape.elements();
  }
  return region;
}

CollectiveKind kind_of(OpKind k) {
  switch (k) {
    case OpKind::all_gather:
      return CollectiveKind::all_gather;
    case OpKind::reduce_scatter:
      return CollectiveKind::reduce_scatter;
    case OpKind::all_to_all:
      return CollectiveKind::all_to_all;
    case OpKind::broadcast:
      return CollectiveKind::broadcast;
    case OpKind::send:
      return CollectiveKind::send;
    case OpKind::recv:
      return CollectiveKind::recv;
    case OpKind::all_reduce:
      return CollectiveKind::all_reduce;
    default:
      throw std::logic_error("the CUDA backend has no " + std::string(to_text(k)));
  }
}

}  // namespace

Collective collective_of(const Program& program, const Op& op, std::span<void* const> inputs,
                         std::span<void* const> outputs, std::int64_t members, std::int64_t member) {
  const Region in = region_of(program, op, program.inputs(op), inputs);
  const Region out = region_of(program, op, program.outputs(op), outputs);
  Collective c;
  c.kind = kind_of(op.kind);
  c.in = in.data;
  c.out = out.data;
  c.type = op.kind == OpKind::recv ? out.type : in.type;
  c.maximum = op.reduction == Reduction::max;
  c.count = op.kind == OpKind::recv ? out.elements : in.elements;
  const auto share = [&](std::int64_t elements) {
    if (elements % members != 0)
      throw std::logic_error(
          fmt::format("{}: {} elements do not divide by {} ranks", op_name(program, op), elements, members));
    return elements / members;
  };
  // In place: a member's own part lies where it belongs in the whole.
  switch (op.kind) {
    case OpKind::all_gather:
      c.count = share(out.elements);
      if (in.data == out.data && in.elements == out.elements) c.in = in.data + member * c.count * size_of(c.type);
      break;
    case OpKind::reduce_scatter:
      c.count = share(in.elements);
      if (in.data == out.data) c.out = in.data + member * c.count * size_of(c.type);
      break;
    case OpKind::all_to_all:
      c.count = share(in.elements);
      break;
    case OpKind::send:
      c.peer = 1;  // its communicator has two members: sender, receiver
      break;
    case OpKind::recv:
      c.peer = 0;
      break;
    default:
      break;
  }
  return c;
}

}  // namespace trainwire::cuda
