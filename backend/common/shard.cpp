#include "backend/common/shard.h"

#include <algorithm>

namespace trainwire {
namespace {

bool has_parameter(const Program& program, std::int32_t parameter) {
  return std::any_of(program.tensors.begin(), program.tensors.end(),
                     [&](const Tensor& t) { return t.category == Category::parameter && t.parameter == parameter; });
}

// Whether a stage before the rank's also keeps the parameter (tied embeddings). Programs share the table of tensors,
// so only what an operation of the program uses counts.
bool used(const Program& program, std::int32_t parameter) {
  if (!has_parameter(program, parameter)) return false;
  return std::any_of(program.operands.begin(), program.operands.end(), [&](BufferId b) {
    const Tensor& t = program.tensor(b);
    return t.category == Category::parameter && t.parameter == parameter;
  });
}

bool first_holder(const Plan& plan, Rank rank, const Tensor& tensor) {
  for (std::size_t a = 0; a < axis_count; ++a) {
    const Axis axis = static_cast<Axis>(a);
    const int here = plan.mesh.coordinate(rank, axis);
    if (axis == Axis::pipeline) {
      for (int stage = 0; stage < here; ++stage)
        if (used(plan.program(plan.mesh.neighbour(rank, axis, stage)), tensor.parameter)) return false;
    } else if (here != 0 && tensor.placement[a].kind != Placement::Kind::shard) {
      return false;
    }
  }
  return true;
}

}  // namespace

Coordinates coordinates_of(const DeviceMesh& mesh, Rank rank) {
  Coordinates at{};
  for (std::size_t a = 0; a < axis_count; ++a) at[a] = mesh.coordinate(rank, static_cast<Axis>(a));
  return at;
}

std::int64_t replica_of(const DeviceMesh& mesh, const Coordinates& at) {
  return std::int64_t{at[static_cast<std::size_t>(Axis::data)]} * mesh.degree(Axis::expert) +
         at[static_cast<std::size_t>(Axis::expert)];
}

void for_each_run(const Tensor& tensor, const Coordinates& at, const VisitRun& visit) {
  const Shape& local = tensor.shape;
  const Shape& global = tensor.global.rank == local.rank ? tensor.global : tensor.shape;
  std::array<std::int64_t, 4> offset{};
  for (std::size_t a = 0; a < axis_count; ++a) {
    const Placement& p = tensor.placement[a];
    if (p.kind == Placement::Kind::shard) offset[static_cast<std::size_t>(p.dim)] += at[a] * local[p.dim];
  }
  // Dimensions from `inner` on are whole: their elements are consecutive.
  int inner = local.rank;
  std::int64_t run = 1;
  while (inner > 0) {
    run *= local[inner - 1];
    --inner;
    if (local[inner] != global[inner]) break;
  }
  for (std::int64_t first = 0; first < local.elements(); first += run) {
    std::int64_t rest = first, index = 0, stride = 1;
    for (int d = local.rank - 1; d >= 0; --d) {
      index += (rest % local[d] + offset[static_cast<std::size_t>(d)]) * stride;
      rest /= local[d];
      stride *= global[d];
    }
    visit(first, index, run);
  }
}

std::vector<std::int64_t> sequence_positions(const Tensor& tensor, const Coordinates& at, const Coordinates& degree) {
  constexpr auto t = static_cast<std::size_t>(Axis::tensor), c = static_cast<std::size_t>(Axis::context);
  const auto divides = [&](std::size_t axis) {
    return tensor.placement[axis].kind == Placement::Kind::shard && tensor.placement[axis].dim == 1;
  };
  const std::int64_t rows = tensor.shape[1], first = divides(t) ? at[t] * rows : 0;
  const std::int64_t held = rows * (divides(t) ? degree[t] : 1);  // by the ranks with the same context coordinate
  std::vector<std::int64_t> positions(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t position = first + i;
    if (divides(c) && tensor.placement[c].zigzag) {
      const std::int64_t half = held / 2, part = position < half ? at[c] : 2 * degree[c] - 1 - at[c];
      position = part * half + position % half;
    } else if (divides(c)) {
      position += at[c] * held;
    }
    positions[static_cast<std::size_t>(i)] = position;
  }
  return positions;
}

std::vector<BufferId> owned_parameters(const Plan& plan, Rank rank) {
  const Program& program = plan.program(rank);
  std::vector<BufferId> owned;
  for (BufferId b = 0; b < static_cast<BufferId>(program.buffers.size()); ++b) {
    const Tensor& tensor = program.tensor(b);
    if (tensor.category != Category::parameter || tensor.parameter < 0) continue;
    if (used(program, tensor.parameter) && first_holder(plan, rank, tensor)) owned.push_back(b);
  }
  return owned;
}

}  // namespace trainwire
