#include "sim/plan/mesh.h"

#include <algorithm>

namespace trainwire {
namespace {

bool spans(Axis group, Axis axis) {
  if (group == Axis::gradient) return axis == Axis::context || axis == Axis::expert || axis == Axis::data;
  if (group == Axis::expert_gradient) return axis == Axis::context || axis == Axis::data;
  return group == axis;
}

}  // namespace

std::string_view to_text(Axis a) {
  static constexpr std::array<std::string_view, group_count> names{
      "tensor", "context", "expert", "data", "pipeline", "replica", "gradient", "expert-gradient"};
  return names[static_cast<std::size_t>(a)];
}

DeviceMesh::DeviceMesh()
    : DeviceMesh({1, 1, 1, 1, 1}, {Axis::tensor, Axis::context, Axis::expert, Axis::data, Axis::pipeline}) {}

DeviceMesh::DeviceMesh(std::array<int, axis_count> degrees, const std::array<Axis, ordered_axes>& order) {
  auto next = order_.begin();
  for (const Axis a : order) {
    *next++ = a;
    if (a == Axis::data) *next++ = Axis::replica;
  }
  for (int group = 0; group < group_count; ++group) {
    int& degree = degrees_[static_cast<std::size_t>(group)];
    degree = 1;
    for (const Axis a : order_)
      if (spans(static_cast<Axis>(group), a)) degree *= std::max(1, degrees[static_cast<std::size_t>(a)]);
  }
  for (const Axis a : order_) {
    stride_[static_cast<std::size_t>(a)] = size_;
    size_ *= degree(a);
  }
}

int DeviceMesh::coordinate(Rank r, Axis group) const {
  int coordinate = 0, stride = 1;
  for (const Axis a : order_) {
    if (!spans(group, a)) continue;
    coordinate += r / stride_[static_cast<std::size_t>(a)] % degree(a) * stride;
    stride *= degree(a);
  }
  return coordinate;
}

Rank DeviceMesh::neighbour(Rank r, Axis group, int coordinate_on_axis) const {
  int rest = coordinate_on_axis;
  for (const Axis a : order_) {
    if (!spans(group, a)) continue;
    const int stride = stride_[static_cast<std::size_t>(a)];
    r += (rest % degree(a) - r / stride % degree(a)) * stride;
    rest /= degree(a);
  }
  return r;
}

std::vector<Rank> DeviceMesh::group(Rank r, Axis a) const {
  std::vector<Rank> members;
  members.reserve(static_cast<std::size_t>(degree(a)));
  for (int c = 0; c < degree(a); ++c) members.push_back(neighbour(r, a, c));
  return members;
}

}  // namespace trainwire
