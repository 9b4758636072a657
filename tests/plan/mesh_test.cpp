#include "sim/plan/mesh.h"

#include <set>

#include "tests/test.h"

using namespace trainwire;

TEST_CASE("coordinates and groups of a mesh partition its ranks", "[plan]") {
  const DeviceMesh mesh({4, 1, 1, 2, 3}, {Axis::tensor, Axis::context, Axis::expert, Axis::data, Axis::pipeline});
  REQUIRE(mesh.size() == 4 * 2 * 3);
  for (const Axis axis : {Axis::tensor, Axis::context, Axis::data, Axis::pipeline}) {
    std::multiset<Rank> seen;
    for (Rank r = 0; r < mesh.size(); ++r) {
      const auto group = mesh.group(r, axis);
      CHECK(group[static_cast<std::size_t>(mesh.coordinate(r, axis))] == r);
      if (group[0] == r) seen.insert(group.begin(), group.end());
    }
    CHECK(seen.size() == static_cast<std::size_t>(mesh.size()));
    CHECK(std::set<Rank>(seen.begin(), seen.end()).size() == seen.size());
  }
}

TEST_CASE("the innermost axis varies fastest", "[plan]") {
  const DeviceMesh mesh({4, 1, 1, 2, 1}, {Axis::data, Axis::tensor, Axis::context, Axis::expert, Axis::pipeline});
  CHECK(mesh.group(0, Axis::data) == std::vector<Rank>{0, 1});
  CHECK(mesh.group(0, Axis::tensor) == std::vector<Rank>{0, 2, 4, 6});
}
