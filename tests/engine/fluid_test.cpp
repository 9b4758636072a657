// Both solvers against times that can be worked out by hand, and against each other.
#include <cmath>
#include <deque>
#include <random>

#include "sim/engine/fluid.h"
#include "tests/test.h"

using namespace trainwire;

namespace {

constexpr double tolerance = 2e-9;  // seconds

// A handful of transfers, each started at its own time; run() gives their end times.
struct Script {
  struct Transfer {
    double start;
    Route route;
    double amount;
  };
  std::vector<double> bandwidths;
  std::vector<Transfer> transfers;
  std::vector<std::pair<double, std::pair<int, double>>> changes;  // time, link, bandwidth

  std::vector<double> run(Solver solver) const {
    const auto fluid = make_fluid(solver);
    std::vector<double> ends(transfers.size(), -1);
    for (const double b : bandwidths) fluid->link(b, !changes.empty());
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      fluid->after(transfers[i].start, [&, i] {
        fluid->flow(transfers[i].route, transfers[i].amount, [&, i] { ends[i] = fluid->now(); });
      });
    }
    for (const auto& [time, change] : changes)
      fluid->after(time, [&fluid, change = change] { fluid->set_bandwidth(change.first, change.second); });
    fluid->run();
    return ends;
  }
};

void check(const Script& script, const std::vector<double>& expected) {
  for (const Solver solver : {Solver::simgrid, Solver::maxmin}) {
    CAPTURE(solver == Solver::simgrid ? "simgrid" : "maxmin");
    const std::vector<double> ends = script.run(solver);
    REQUIRE(ends.size() == expected.size());
    for (std::size_t i = 0; i < ends.size(); ++i) {
      CAPTURE(i, ends[i], expected[i]);
      CHECK(std::fabs(ends[i] - expected[i]) <= tolerance);
    }
  }
}

}  // namespace

TEST_CASE("one transfer takes its start plus size over bandwidth") {
  const double start = 5e-6, size = 25e6, bandwidth = 50e9;
  check({{bandwidth}, {{start, {{0}}, size}}, {}}, {start + size / bandwidth});
}

TEST_CASE("a transfer of nothing, or over no link, ends at once") {
  check({{1e9}, {{1, {{0}}, 0}, {2, {}, 1e9}}, {}}, {1, 2});
}

TEST_CASE("a transfer of one byte takes its time") { check({{1e9}, {{0, {{0}}, 1}}, {}}, {1e-9}); }

TEST_CASE("two transfers on one link halve it until the shorter is done") {
  // Both at B/2 until the short one has moved; then the rest of the long one at B.
  const double bandwidth = 1e9, small = 1e9, large = 2e9;
  const double first = small / (bandwidth / 2);
  check({{bandwidth}, {{0, {{0}}, small}, {0, {{0}}, large}}, {}}, {first, first + (large - small) / bandwidth});
}

TEST_CASE("a network port shared by n transfers gives each one n-th") {
  const int n = GENERATE(2, 3, 8);
  const double bandwidth = 25e9, size = 1e9;
  Script script{{bandwidth}, {}, {}};
  for (int i = 0; i < n; ++i) {
    script.bandwidths.push_back(300e9);  // its own port, never full
    script.transfers.push_back({0, {{i + 1}, {0}}, size});
  }
  check(script, std::vector<double>(static_cast<std::size_t>(n), n * size / bandwidth));
}

TEST_CASE("full duplex does not share: two links, one a direction") {
  check({{1e9, 1e9}, {{0, {{0}}, 1e9}, {0, {{1}}, 1e9}}, {}}, {1, 1});
}

TEST_CASE("parking lot: the long transfer is held by its tightest link, the others take what it leaves") {
  // Links of 1 and 2 GB/s. Long over both: 1/2 GB/s beside a; b gets the other 3/2 GB/s of the second link.
  const double ab = 0.5e9;
  check({{1e9, 2e9}, {{0, {{0}, {1}}, 1e9}, {0, {{0}}, 1e9}, {0, {{1}}, 1e9}}, {}}, {1e9 / ab, 1e9 / ab, 1e9 / 1.5e9});
}

TEST_CASE("a link listed with weight n is consumed n times") {
  // 3x + x <= C at equal rates: x = C/4; then the rest of the heavy one at C/3.
  const double capacity = 12, light = 3, heavy = 4;
  const double first = light / (capacity / 4);
  check({{capacity}, {{0, {{0, 3}}, heavy}, {0, {{0}}, light}}, {}}, {first + (heavy - light) / (capacity / 3), first});
}

TEST_CASE("n rings over n nodes share each node's port: n times as long") {
  const int rings = 4, nodes = 4;
  const double bandwidth = 25e9, size = 1e9;
  Script script{std::vector<double>(2 * nodes, bandwidth), {}, {}};
  Route ports;
  for (int l = 0; l < 2 * nodes; ++l) ports.push_back({l});
  const double moved = 2.0 * (nodes - 1) / nodes * size;  // through each port; Patarasuk & Yuan 2009
  for (int r = 0; r < rings; ++r) script.transfers.push_back({0, ports, moved});
  check(script, std::vector<double>(rings, moved / (bandwidth / rings)));
}

TEST_CASE("the time of a transfer is inversely proportional to the bandwidth") {
  const double factor = GENERATE(0.5, 2.0, 10.0);
  check({{1e9 * factor}, {{0, {{0}}, 3e9}}, {}}, {3 / factor});
}

TEST_CASE("a kernel is slowed while a collective runs") {
  // The kernel needs 10 ms alone; from 1 ms to 5 ms it runs at 80 %: 10 + 4 * 0.2 = 10.8 ms.
  const double unit = 1e12;
  check({{unit}, {{0, {{0}}, 10e-3 * unit}}, {{1e-3, {0, 0.8 * unit}}, {5e-3, {0, unit}}}}, {10.8e-3});
}

TEST_CASE("a transfer that starts on a slowed link speeds up with it") {
  // Slowed to a half from the start; at 4 s, with 8 of 10 units left, to the full and then to twice the bandwidth.
  check({{1}, {{0, {{0}}, 10}}, {{0, {0, 0.5}}, {4, {0, 1}}, {6, {0, 2}}}}, {4 + 2 + 6.0 / 2});
}

TEST_CASE("two transfers that start at one instant and share a first link leave no other link over-committed") {
  // Where SimGrid's solver goes wrong with link latencies: X alone on the second link until B joins.
  // From 0.201 s: Y and B half of link 0 each, B and X half of link 1 each.
  const double start = 0.201, x_alone = 1e9 * start;
  const double x_end = start + (1e9 - x_alone) / 0.5e9;
  const double y_end = start + 1e9 / 0.5e9;
  check({{1e9, 1e9}, {{0, {{1}}, 1e9}, {start, {{0}}, 1e9}, {start, {{0}, {1}}, 1e9}}, {}}, {x_end, y_end, y_end});
}

TEST_CASE("a chain of zero-length timers runs in one instant and does not recurse") {
  const Solver solver = GENERATE(Solver::simgrid, Solver::maxmin);
  const auto fluid = make_fluid(solver);
  int left = 10000;
  std::function<void()> next = [&] {
    if (--left > 0) fluid->after(0, next);
  };
  fluid->after(1, next);
  fluid->run();
  CHECK(left == 0);
  CHECK(fluid->now() == Approx(1));
}

TEST_CASE("the solvers agree on random networks") {
  const unsigned seed = GENERATE(range(1U, 21U));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  Script script;
  const int links = pick(2, 12), transfers = pick(5, 60);
  for (int l = 0; l < links; ++l) script.bandwidths.push_back(1e9 * pick(1, 50));
  for (int t = 0; t < transfers; ++t) {
    Route route;
    for (int l = 0; l < links; ++l)
      if (pick(0, 2) == 0) route.push_back({l, static_cast<double>(pick(1, 4))});
    script.transfers.push_back({1e-3 * pick(0, 20), route, 1e6 * pick(1, 1000)});
  }
  const std::vector<double> expected = script.run(Solver::maxmin);
  check(script, expected);
}

TEST_CASE("the solver is chosen by what the transfers look like") {
  const Route plain{{0}, {1, 128}}, fractional{{0, 0.5}};
  Route longer;
  for (int l = 0; l < 100; ++l) longer.push_back({l});
  CHECK(suitable_solver(16, {&plain}) == Solver::simgrid);
  CHECK(suitable_solver(5000, {&plain}) == Solver::maxmin);
  CHECK(suitable_solver(16, {&plain, &fractional}) == Solver::maxmin);
  CHECK(suitable_solver(16, {&longer}) == Solver::maxmin);
}

TEST_CASE("two simulations at once are refused, one after the other are not") {
  {
    const auto fluid = make_fluid(Solver::simgrid);
    CHECK_THROWS_AS(make_fluid(Solver::maxmin), std::logic_error);
  }
  CHECK_NOTHROW(make_fluid(Solver::maxmin));
}
