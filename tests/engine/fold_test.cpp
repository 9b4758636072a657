// Folding must not change any time.
#include <algorithm>
#include <cmath>
#include <random>

#include "sim/engine/compile.h"
#include "tests/engine/hand_made.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::hand_made;

namespace {

struct Random {
  std::mt19937 engine;
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); }
};

// Forwards of all micro-batches, then their backwards; tensor all-reduces after each computing; buckets of gradients
// reduced beside the last backward.
Program stage_program(Random& random, int stage, int stages, int micro_batches, std::int64_t message) {
  Writer w("stage " + std::to_string(stage));
  std::uint32_t tensor_tag = 0;
  const std::int64_t activation = 1000 * random.pick(1, 3000);
  const int layers = random.pick(1, 3);
  OpId latest = -1;
  const auto deps = [](OpId op) { return op < 0 ? std::vector<OpId>{} : std::vector<OpId>{op}; };
  const auto pass = [&](int from, int to, std::uint32_t receive_tag, std::uint32_t send_tag) {
    OpId before = -1;
    if (from >= 0 && from < stages)
      before =
          w.communicate(OpKind::recv, Axis::pipeline, Stream::pipeline_receive, message, receive_tag, {}, from - stage);
    for (int l = 0; l < layers; ++l) {
      latest = w.compute(random.pick(1, 300), deps(before));
      before = w.communicate(OpKind::all_reduce, Axis::tensor, Stream::tensor, activation, ++tensor_tag, {latest});
    }
    latest = w.compute(random.pick(0, 50), deps(before));
    if (to >= 0 && to < stages)
      w.communicate(OpKind::send, Axis::pipeline, Stream::pipeline_send, message, send_tag, {latest}, to - stage);
  };
  const auto tag = [&](int mb, int to, int backward) {
    return static_cast<std::uint32_t>((mb * stages + to) * 2 + backward);
  };
  for (int mb = 0; mb < micro_batches; ++mb) pass(stage - 1, stage + 1, tag(mb, stage, 0), tag(mb, stage + 1, 0));
  for (int mb = 0; mb < micro_batches; ++mb) pass(stage + 1, stage - 1, tag(mb, stage, 1), tag(mb, stage - 1, 1));
  OpId reduced = -1;
  for (std::uint32_t bucket = 0; bucket < 3; ++bucket) {
    reduced =
        w.communicate(OpKind::all_reduce, Axis::data, Stream::data, 1000 * random.pick(1, 20000), bucket, {latest});
    if (bucket < 2) latest = w.compute(random.pick(1, 500));
  }
  w.compute(random.pick(1, 100), {reduced});
  return w.program();
}

struct Case {
  Plan plan;
  Topology topology;
  std::vector<DeviceId> placement;
};

Case random_case(unsigned seed, bool scattered) {
  Random random{std::mt19937(seed)};
  const int tensor = 1 << random.pick(0, 2), data = random.pick(1, 4), stages = random.pick(1, 4);
  const DeviceMesh device_mesh = mesh(tensor, data, stages);
  const int micro_batches = random.pick(1, 4);
  const std::int64_t message = 1000 * random.pick(1, 5000);
  std::vector<Program> programs;
  for (int s = 0; s < stages; ++s) programs.push_back(stage_program(random, s, stages, micro_batches, message));
  Cluster cluster;
  cluster.devices = 1 << random.pick(0, 3);
  cluster.hosts = (device_mesh.size() + cluster.devices - 1) / cluster.devices;
  cluster.spine_bandwidth = random.pick(0, 1) == 1 ? 1e15 : 10e9 * random.pick(1, 10);
  const int device = random.pick(0, 2);
  if (device > 0) cluster.spec.communication_slowdown.value = 0.25;
  if (device > 1) {
    cluster.spec.kind = DeviceSpec::Kind::cpu;
    cluster.spec.cpu.cores = random.pick(1, 4);
    cluster.spec.cpu.core_sharing = 1.25;
  }
  Case made{staged(device_mesh, std::move(programs)), cluster.topology(), {}};
  made.placement = in_order(made.plan);
  if (scattered) std::shuffle(made.placement.begin(), made.placement.end(), random.engine);
  return made;
}

Timeline run(const Case& c, const SimulateOptions& options) {
  return simulate(World{c.plan, c.topology, c.placement, pricing()}, options);
}

void check_equal(const Case& c, const Timeline& folded, const Timeline& unfolded) {
  CHECK(relative_error(folded.step_time_s, unfolded.step_time_s) < 1e-9);
  double worst = 0;
  for (std::size_t r = 0; r < c.placement.size(); ++r) {
    const auto& a = folded.ranks[static_cast<std::size_t>(folded.timeline_of[r])].spans;
    const auto& b = unfolded.ranks[static_cast<std::size_t>(unfolded.timeline_of[r])].spans;
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      worst = std::max({worst, std::fabs(a[i].start_s - b[i].start_s), std::fabs(a[i].end_s - b[i].end_s)});
  }
  CHECK(worst < 1e-9 * unfolded.step_time_s);
  const auto total = [](const Timeline& t) {
    double bytes = 0;
    for (const LinkUse& use : t.links) bytes += use.bytes * use.copies;
    return bytes;
  };
  CHECK(relative_error(total(folded), total(unfolded)) < 1e-9);
}

}  // namespace

TEST_CASE("folded and unfolded simulations of random plans give every operation the same times") {
  const unsigned seed = GENERATE(range(1U, 41U));
  const bool scattered = GENERATE(false, true);
  const Case c = random_case(seed, scattered);
  const Timeline folded = run(c, {true, "maxmin"}), unfolded = run(c, {false, "maxmin"});
  CAPTURE(seed, scattered, c.placement.size(), folded.ranks.size(), folded.step_time_s, unfolded.step_time_s);
  check_equal(c, folded, unfolded);
}

TEST_CASE("both solvers give random plans the same step time, folded and unfolded") {
  const unsigned seed = GENERATE(range(101U, 116U));
  const Case c = random_case(seed, false);
  const double expected = run(c, {true, "maxmin"}).step_time_s;
  const double folded = run(c, {true, "simgrid"}).step_time_s, unfolded = run(c, {false, "simgrid"}).step_time_s;
  CAPTURE(seed, c.placement.size(), expected, folded, unfolded);
  CHECK(relative_error(folded, expected) < 1e-8);
  CHECK(relative_error(unfolded, expected) < 1e-8);
}

TEST_CASE("alike ranks are one class: one a pipeline stage whatever the other degrees") {
  Random random{std::mt19937(7)};
  std::vector<Program> programs;
  for (int s = 0; s < 4; ++s) programs.push_back(stage_program(random, s, 4, 2, 1'000'000));
  const Plan plan = staged(mesh(4, 4, 4), std::move(programs));
  Cluster cluster{8, 8};
  cluster.spine_bandwidth = 50e9;
  const Timeline folded = hand_made::run(plan, cluster.topology());
  CHECK(folded.ranks.size() == 4);
  CHECK(folded.timeline_of.size() == 64);
  const Timeline unfolded = hand_made::run(plan, cluster.topology(), {false, "auto"});
  CHECK(unfolded.ranks.size() == 64);
  CHECK(relative_error(folded.step_time_s, unfolded.step_time_s) < 1e-9);
}

TEST_CASE("ranks placed unlike each other are told apart") {
  // Two groups of two: one on one host, one across two hosts.
  Writer w("all");
  w.communicate(OpKind::all_reduce, Axis::tensor, Stream::tensor, 1'000'000, 1);
  Plan plan;
  plan.mesh = mesh(2, 2, 1);
  plan.programs = {w.program()};
  plan.program_of.assign(4, 0);
  Case c{plan, Cluster{3, 2}.topology(), {0, 1, 2, 4}};
  CHECK(run(c, {}).ranks.size() == 2);
  CHECK(hand_made::run(plan, c.topology).ranks.size() == 1);
  check_equal(c, run(c, {}), run(c, {false, "auto"}));
}

TEST_CASE("a slower device splits the ranks that depend on it from those that do not") {
  Writer w("all");
  w.compute(100);
  w.communicate(OpKind::all_reduce, Axis::tensor, Stream::tensor, 1'000'000, 1);
  Plan plan;
  plan.mesh = mesh(2, 4, 1);
  plan.programs = {w.program()};
  plan.program_of.assign(8, 0);
  Case c{plan, Cluster{1, 8}.topology(), in_order(plan)};
  c.topology.specs.push_back(c.topology.specs[0]);
  c.topology.devices[5].spec = 1;
  const Timeline t = run(c, {});
  CHECK(t.ranks.size() == 3);  // rank 5; rank 4, which waits for it; all others
  CHECK(t.timeline_of[5] != t.timeline_of[4]);
  CHECK(t.timeline_of[0] == t.timeline_of[7]);
}

TEST_CASE("links that can never be full are left out of routes, the others are not") {
  // Tensor groups on one host: each port carries one ring, so its two directions limit alike: one of them is enough.
  Writer w("all");
  w.communicate(OpKind::all_reduce, Axis::tensor, Stream::tensor, 1'000'000, 1);
  const Plan plan = on_axis(Axis::tensor, 8, w.program());
  const Topology topology = Cluster{1, 8}.topology();
  const Network network = compile(World{plan, topology, in_order(plan), pricing()}, true);
  REQUIRE(network.groups.size() == 1);
  REQUIRE(network.groups[0].routes.size() == 1);
  CHECK(network.groups[0].routes[0].binding.size() == 1);
  double crossed = 0;
  for (const Hop& hop : network.groups[0].routes[0].all) crossed += hop.weight;
  CHECK(crossed >= 1);
}
