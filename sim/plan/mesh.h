// Ranks as coordinates on named axes; an axis' group of a rank is all ranks that differ from it on that axis alone.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace trainwire {

using Rank = std::int32_t;

// The mesh has five axes. The last two name groups over several of them: the ranks that add their gradients up.
enum class Axis : std::uint8_t {
  tensor,
  context,
  expert,
  data,
  pipeline,
  gradient,         // context x expert x data: share every parameter that is not an expert's
  expert_gradient,  // context x data: share the parameters of the same experts
};
constexpr int axis_count = 5;   // of the mesh
constexpr int group_count = 7;  // that collectives may name
std::string_view to_text(Axis);

class DeviceMesh {
 public:
  DeviceMesh();  // one rank
  // degrees by Axis; `order` lists every axis, innermost (fastest varying, nearest wires) first.
  DeviceMesh(std::array<int, axis_count> degrees, std::array<Axis, axis_count> order);

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
