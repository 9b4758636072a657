// Ranks as coordinates on named axes; an axis' group of a rank is all ranks that differ from it on that axis alone.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace trainwire {

using Rank = std::int32_t;

// The mesh has six axes. `replica`: groups that shard the data axis each for itself and copy one another (hybrid
// sharding); right outside data. The last two name groups over several axes: the ranks that add their gradients up.
enum class Axis : std::uint8_t {
  tensor,
  context,
  expert,
  data,
  pipeline,
  replica,
  gradient,         // context x expert x data: share every parameter that is not an expert's
  expert_gradient,  // context x data: share the parameters of the same experts
};
constexpr int axis_count = 6;    // of the mesh
constexpr int ordered_axes = 5;  // those whose order a scenario chooses
constexpr int group_count = 8;   // that collectives may name
std::string_view to_text(Axis);

class DeviceMesh {
 public:
  DeviceMesh();  // one rank
  // degrees by Axis, 0 meaning 1; `order`: innermost (fastest varying, nearest wires) first, without `replica`.
  DeviceMesh(std::array<int, axis_count> degrees, const std::array<Axis, ordered_axes>& order);

  int size() const { return size_; }
  int degree(Axis a) const { return degrees_[static_cast<std::size_t>(a)]; }
  int coordinate(Rank r, Axis a) const;
  Rank neighbour(Rank r, Axis a, int coordinate) const;  // the rank with that coordinate on the axis, else like r
  std::vector<Rank> group(Rank r, Axis a) const;         // by coordinate; {r} where the degree is 1
  const std::array<Axis, axis_count>& order() const { return order_; }

 private:
  std::array<int, group_count> degrees_{};
  std::array<int, axis_count> stride_{};
  std::array<Axis, axis_count> order_{};
  int size_ = 1;
};

}  // namespace trainwire
