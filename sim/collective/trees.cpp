#include "sim/collective/trees.h"

#include <algorithm>

namespace trainwire {
namespace {

// In-order numbering: odd members are inner ones, even members are leaves; member 0 is above all.
int parent_of(int member, int members) {
  if (member == 0) return -1;
  const int bit = member & -member;
  const int up = (member ^ bit) | (bit << 1);
  return up < members ? up : member ^ bit;
}

}  // namespace

int BinaryTree::depth_of(int member) const {
  int depth_found = 0;
  for (int m = member; parent[static_cast<std::size_t>(m)] >= 0; m = parent[static_cast<std::size_t>(m)]) ++depth_found;
  return depth_found;
}

std::array<BinaryTree, 2> double_binary_tree(int members) {
  std::array<BinaryTree, 2> trees;
  for (int t = 0; t < 2; ++t) {
    const auto name = [&](int m) {
      if (t == 0 || m < 0) return m;
      return members % 2 == 0 ? members - 1 - m : (m + 1) % members;
    };
    BinaryTree& tree = trees[static_cast<std::size_t>(t)];
    tree.parent.assign(static_cast<std::size_t>(members), -1);
    for (int m = 0; m < members; ++m) tree.parent[static_cast<std::size_t>(name(m))] = name(parent_of(m, members));
    for (int m = 0; m < members; ++m) tree.depth = std::max(tree.depth, tree.depth_of(m));
  }
  return trees;
}

}  // namespace trainwire
