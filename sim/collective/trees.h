// The double binary tree: two trees over the same members, so that who only listens in one passes on in the other.
#pragma once
#include <array>
#include <vector>

namespace trainwire {

// A tree by parents; the root's is -1. `depth`: edges on the longest way to the root.
struct BinaryTree {
  std::vector<int> parent;
  int depth = 0;
  int depth_of(int member) const;
};

// Sanders, Speck, Träff, Two-tree algorithms for full bandwidth broadcast, reduction and scan (2009): the second tree
// is the first one mirrored (even numbers of members) or shifted by one (odd numbers).
std::array<BinaryTree, 2> double_binary_tree(int members);

}  // namespace trainwire
