#include "sim/plan/mesh.h"

namespace trainwire {

std::string_view to_text(Axis a) {
  static constexpr std::array<std::string_view, axis_count> names{"tensor", "context", "expert", "data", "pipeline"};
  return names[static_cast<std::size_t>(a)];
}

DeviceMesh::DeviceMesh()
    : DeviceMesh({1, 1, 1, 1, 1}, {Axis::tensor, Axis::context, Axis::expert, Axis::data, Axis::pipeline}) {}

DeviceMesh::DeviceMesh(std::array<int, axis_count> degrees, std::array<Axis, axis_count> order)
    : degrees_(degrees), order_(order) {
  for (const Axis a : order) {
    stride_[static_cast<std::size_t>(a)] = size_;
    size_ *= degree(a);
  }
}

int DeviceMesh::coordinate(Rank r, Axis a) const { return r / stride_[static_cast<std::size_t>(a)] % degree(a); }

Rank DeviceMesh::neighbour(Rank r, Axis a, int coordinate_on_axis) const {
  return r + (coordinate_on_axis - coordinate(r, a)) * stride_[static_cast<std::size_t>(a)];
}

std::vector<Rank> DeviceMesh::group(Rank r, Axis a) const {
  std::vector<Rank> members;
  members.reserve(static_cast<std::size_t>(degree(a)));
  for (int c = 0; c < degree(a); ++c) members.push_back(neighbour(r, a, c));
  return members;
}

}  // namespace trainwire
