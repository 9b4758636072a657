#include "backend/common/shard.h"

#include <algorithm>

namespace trainwire {
namespace {

// Whether an operation of the stage uses the parameter.
bool used(const Program& program, std::int32_t parameter) {
  return std::any_of(program.operands.begin(), program.operands.end(), [&](BufferId b) {
    const Tensor& t = program.tensor(b);
    return t.category == Category::parameter && t.parameter == parameter;
  });
}

// Whether this is the first of the ranks that hold the same part of the parameter in such a tensor.
bool first_holder(const Plan& plan, Rank rank, const Tensor& tensor, const Tensor& parameter) {
  for (std::size_t a = 0; a < axis_count; ++a) {
    const Axis axis = static_cast<Axis>(a);
    const int here = plan.mesh.coordinate(rank, axis);
    if (axis == Axis::pipeline) {
      for (int stage = 0; stage < here; ++stage)
        if (used(plan.program(plan.mesh.neighbour(rank, axis, stage)), parameter.parameter)) return false;
    } else if (here != 0 && tensor.placement[a].kind != Placement::Kind::shard &&
               parameter.placement[a].kind != Placement::Kind::shard) {
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
  const std::int64_t group = at[static_cast<std::size_t>(Axis::replica)];
  const std::int64_t data = group * mesh.degree(Axis::data) + at[static_cast<std::size_t>(Axis::data)];
  return data * mesh.degree(Axis::expert) + at[static_cast<std::size_t>(Axis::expert)];
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

std::int64_t first_of_shard(const Tensor& flat, const Coordinates& at) {
  for (std::size_t a = 0; a < axis_count; ++a)
    if (flat.placement[a].kind == Placement::Kind::shard) return at[a] * flat.shape.elements();
  return 0;
}

namespace {

// Parts of the flat tensor's parameters on this rank: the parameter, where in the rank's tensor, where in the
// parameter.
template <class Visit>
void overlaps(const Program& program, const Tensor& flat, const Coordinates& at, const Visit& visit) {
  const std::int64_t first = first_of_shard(flat, at), end = first + flat.shape.elements();
  for (const FlatPiece& piece : program.flats[static_cast<std::size_t>(flat.flat)]) {
    const Tensor& parameter = program.tensors[static_cast<std::size_t>(piece.parameter)];
    const std::int64_t from = std::max(first, piece.offset);
    const std::int64_t to = std::min(end, piece.offset + parameter.shape.elements());
    if (from < to) visit(parameter, from - first, from - piece.offset, to - from);
  }
}

}  // namespace

void for_each_piece(const Program& program, const Tensor& flat, const Coordinates& at, const VisitPiece& visit) {
  overlaps(program, flat, at, [&](const Tensor& parameter, std::int64_t local, std::int64_t, std::int64_t count) {
    visit(parameter, local, count);
  });
}

void for_each_parameter_run(const Program& program, const Tensor& tensor, const Coordinates& at,
                            const VisitParameter& visit) {
  if (tensor.flat < 0) {
    for_each_run(tensor, at, [&](std::int64_t local, std::int64_t global, std::int64_t count) {
      visit(tensor, local, global, count);
    });
    return;
  }
  overlaps(program, tensor, at, [&](const Tensor& parameter, std::int64_t local, std::int64_t from, std::int64_t n) {
    for_each_run(parameter, at, [&](std::int64_t inside, std::int64_t global, std::int64_t count) {
      const std::int64_t begin = std::max(inside, from), end = std::min(inside + count, from + n);
      if (begin < end) visit(parameter, local + begin - from, global + begin - inside, end - begin);
    });
  });
}

bool keeps_parameters(const Program& program, BufferId b) {
  const Tensor& t = program.tensor(b);
  if (t.category != Category::parameter || t.gathered) return false;
  if (t.flat < 0) return t.parameter >= 0;
  return t.view_of < 0 && t.placement[static_cast<std::size_t>(Axis::data)].kind == Placement::Kind::shard;
}

void for_each_owned_run(const Plan& plan, Rank rank, const VisitOwned& visit) {
  const Program& program = plan.program(rank);
  const Coordinates at = coordinates_of(plan.mesh, rank);
  for (BufferId b = 0; b < static_cast<BufferId>(program.buffers.size()); ++b) {
    if (!keeps_parameters(program, b)) continue;
    const Tensor& tensor = program.tensor(b);
    for_each_parameter_run(program, tensor, at,
                           [&](const Tensor& parameter, std::int64_t local, std::int64_t global, std::int64_t count) {
                             if (used(program, parameter.parameter) && first_holder(plan, rank, tensor, parameter))
                               visit(b, parameter.parameter, local, global, count);
                           });
  }
}

}  // namespace trainwire
