// Step lists of trees, of in-switch reduction and of the hierarchical all-reduce.
#include <algorithm>

#include "sim/collective/steps.h"
#include "sim/collective/trees.h"

namespace trainwire {

StepList tree_steps(OpKind, int members) {
  const auto trees = double_binary_tree(members);
  const int depth = std::max(trees[0].depth, trees[1].depth);
  StepList list{2, 2 * depth, {}};
  // Half the buffer goes up and down each tree; the deepest members begin.
  for (int round = 0; round < list.rounds; ++round)
    for (int t = 0; t < 2; ++t)
      for (int m = 0; m < members; ++m) {
        const BinaryTree& tree = trees[static_cast<std::size_t>(t)];
        const int parent = tree.parent[static_cast<std::size_t>(m)];
        if (parent < 0) continue;
        const int level = tree.depth_of(m);
        if (round == depth - level) list.steps.push_back({round, m, parent, t, true});
        if (round == depth + level - 1) list.steps.push_back({round, parent, m, t, false});
      }
  return list;
}

StepList nvls_steps(OpKind, int members) {
  // The switch adds what all send of a member's chunk and multicasts the sum: here the member does both.
  StepList list{members, members > 1 ? 2 : 0, {}};
  for (int round = 0; round < list.rounds; ++round)
    for (int owner = 0; owner < members; ++owner)
      for (int m = 0; m < members; ++m) {
        if (m == owner) continue;
        if (round == 0)
          list.steps.push_back({0, m, owner, owner, true});
        else
          list.steps.push_back({1, owner, m, owner, false});
      }
  return list;
}

StepList hierarchical_steps(int members, int per_node) {
  const int local = per_node, nodes = members / per_node;
  StepList list{members, 0, {}};
  const auto wrap = [](int value, int modulus) { return (value % modulus + modulus) % modulus; };
  // Inside the nodes a round passes on `nodes` chunks at once, the part of one local member.
  const auto inside = [&](int offset, bool reduce) {
    for (int m = 0; m < members; ++m) {
      const int node = m / local, l = m % local, part = wrap(l - offset, local);
      for (int c = 0; c < nodes; ++c)
        list.steps.push_back({list.rounds, m, node * local + (l + 1) % local, part * nodes + c, reduce});
    }
    ++list.rounds;
  };
  const auto between = [&](int offset, bool reduce) {
    for (int m = 0; m < members; ++m) {
      const int node = m / local, l = m % local;
      const int chunk = l * nodes + wrap(node - offset, nodes);
      list.steps.push_back({list.rounds, m, (m + local) % members, chunk, reduce});
    }
    ++list.rounds;
  };
  for (int r = 0; r < local - 1; ++r) inside(r + 1, true);
  for (int r = 0; r < nodes - 1; ++r) between(r + 1, true);
  for (int r = 0; r < nodes - 1; ++r) between(r, false);
  for (int r = 0; r < local - 1; ++r) inside(r, false);
  return list;
}

StepList hierarchical_steps(OpKind, int members) {
  int per_node = 1;
  for (int n = 2; n <= 8; ++n)
    if (members % n == 0) per_node = n;
  return hierarchical_steps(members, per_node);
}

}  // namespace trainwire
