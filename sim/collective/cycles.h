// Cycles through all members of a small group whose wires differ.
#pragma once
#include <vector>

namespace trainwire {

constexpr int longest_search = 9;  // members; (9 - 1)! / 2 orders

// Bytes per second between the members of a node.
class Wires {
 public:
  explicit Wires(int members) : members_(members), bandwidth_(size()), own_(size()) {}
  int members() const { return members_; }
  double& bandwidth(int a, int b) { return bandwidth_[at(a, b)]; }  // of the route
  double bandwidth(int a, int b) const { return bandwidth_[at(a, b)]; }
  double& own(int a, int b) { return own_[at(a, b)]; }  // of a wire that only these two share; 0: none
  double own(int a, int b) const { return own_[at(a, b)]; }
  bool all_equal() const;

 private:
  std::size_t size() const { return static_cast<std::size_t>(members_ * members_); }
  std::size_t at(int a, int b) const { return static_cast<std::size_t>(a * members_ + b); }
  int members_;
  std::vector<double> bandwidth_, own_;
};

// Cycles over wires of their own, each with its reverse, that use every wire at most as often as it is wide.
std::vector<std::vector<int>> disjoint_cycles(const Wires& wires);
// The cycle whose slowest hop is fastest, then the one with the most bandwidth in sum, then the first in order.
std::vector<int> widest_cycle(const Wires& wires);

}  // namespace trainwire
