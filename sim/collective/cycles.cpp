// Search by trying all orders that start with member 0.
#include "sim/collective/cycles.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace trainwire {
namespace {

struct Best {
  std::vector<int> cycle;
  double least = 0, sum = 0;
};

// Extends `path` in all ways whose hops are at least as wide as the best cycle's least.
void extend(std::vector<int>& path, double least, double sum, int members, const std::function<double(int, int)>& width,
            Best& best) {
  const int last = path.back();
  if (static_cast<int>(path.size()) == members) {
    least = std::min(least, width(last, 0));
    sum += width(last, 0);
    if (least > best.least || (least == best.least && sum > best.sum)) best = {path, least, sum};
    return;
  }
  for (int next = 1; next < members; ++next) {
    const double w = width(last, next);
    if (w <= 0 || w < best.least || std::find(path.begin(), path.end(), next) != path.end()) continue;
    path.push_back(next);
    extend(path, std::min(least, w), sum + w, members, width, best);
    path.pop_back();
  }
}

Best search(int members, const std::function<double(int, int)>& width) {
  Best best;
  std::vector<int> path{0};
  extend(path, std::numeric_limits<double>::infinity(), 0, members, width, best);
  return best;
}

}  // namespace

bool Wires::all_equal() const {
  for (int a = 0; a < members_; ++a)
    for (int b = 0; b < members_; ++b)
      if (a != b && bandwidth(a, b) != bandwidth(0, 1)) return false;
  return true;
}

std::vector<std::vector<int>> disjoint_cycles(const Wires& wires) {
  const int n = wires.members();
  double unit = std::numeric_limits<double>::infinity();
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b)
      if (wires.own(a, b) > 0) unit = std::min(unit, wires.own(a, b));
  // Wires are taken in units of the narrowest one; a ring and its reverse take one of each direction.
  std::vector<int> left(static_cast<std::size_t>(n * n));
  const auto at = [n](int a, int b) { return static_cast<std::size_t>(a * n + b); };
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b)
      left[at(a, b)] = static_cast<int>(std::min(wires.own(a, b), wires.own(b, a)) / unit * 1.001);
  std::vector<std::vector<int>> result;
  for (;;) {
    const Best best = search(n, [&](int a, int b) { return static_cast<double>(left[at(a, b)]); });
    if (best.cycle.empty()) return result;
    for (int i = 0; i < n; ++i) {
      const int a = best.cycle[static_cast<std::size_t>(i)], b = best.cycle[static_cast<std::size_t>((i + 1) % n)];
      --left[at(a, b)];
      --left[at(b, a)];
    }
    result.push_back(best.cycle);
    result.emplace_back(best.cycle.rbegin(), best.cycle.rend());
  }
}

std::vector<int> widest_cycle(const Wires& wires) {
  return search(wires.members(), [&](int a, int b) { return wires.bandwidth(a, b); }).cycle;
}

}  // namespace trainwire
