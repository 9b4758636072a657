// Plans that cannot finish: the engine has to say why, SimGrid says nothing.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "tests/engine/hand_made.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::hand_made;

TEST_CASE("a collective that a rank never reaches names both ranks and operations") {
  Writer with("stage 0"), without("stage 1");
  with.communicate(OpKind::all_reduce, Axis::pipeline, Stream::data, 1000, 5);
  without.compute(10);
  const Plan plan = staged(mesh(1, 1, 2), {with.program(), without.program()});
  for (const char* solver : {"simgrid", "maxmin"})
    CHECK_THROWS_WITH(
        run(plan, Cluster{1, 2}.topology(), {true, solver}),
        contains("rank 0: t5 all_reduce over pipeline (tag 5) waits for rank 1, which has ended its program"));
}

TEST_CASE("two ranks that wait for each other are both named") {
  // Each sends first on the stream on which it would receive.
  const auto program = [](const char* role, int peer, std::uint32_t sends, std::uint32_t receives) {
    Writer w(role);
    w.communicate(OpKind::send, Axis::pipeline, Stream::pipeline_send, 1000, sends, {}, peer);
    w.communicate(OpKind::recv, Axis::pipeline, Stream::pipeline_send, 1000, receives, {}, peer);
    return w.program();
  };
  const Plan plan = staged(mesh(1, 1, 2), {program("stage 0", 1, 1, 2), program("stage 1", -1, 2, 1)});
  CHECK_THROWS_WITH(
      run(plan, Cluster{1, 2}.topology()),
      contains("rank 0: t1 send over pipeline (tag 1) waits for rank 1, which is at t2 send over pipeline") &&
          contains("rank 1: t2 send over pipeline (tag 2) waits for rank 0, which is at t1 send over pipeline"));
}

TEST_CASE("the report of a large plan stays short") {
  Writer w("all");
  const OpId stuck = w.communicate(OpKind::recv, Axis::data, Stream::data, 1000, 1, {}, 1);
  w.compute(10, {stuck});
  try {
    run(on_axis(Axis::data, 64, w.program()), Cluster{8, 8}.topology(), {false, "auto"});
    FAIL("it finished");
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    CHECK(std::count(text.begin(), text.end(), '\n') <= 11);
    CHECK_THAT(text, contains("128 of 128 operations never ended"));
  }
}

TEST_CASE("ranks that disagree about the size of a communication are named") {
  Writer small("stage 0"), large("stage 1");
  small.communicate(OpKind::all_reduce, Axis::pipeline, Stream::data, 1000, 5);
  large.communicate(OpKind::all_reduce, Axis::pipeline, Stream::data, 2000, 5);
  CHECK_THROWS_WITH(run(staged(mesh(1, 1, 2), {small.program(), large.program()}), Cluster{1, 2}.topology()),
                    contains("rank 1") && contains("2000 bytes") && contains("rank 0") && contains("1000 bytes"));
}

TEST_CASE("numbers that cannot be simulated are refused before the simulation") {
  Writer w("all");
  w.compute(10);
  const Plan plan = on_axis(Axis::data, 2, w.program());
  const Topology topology = Cluster{1, 2}.topology();
  const double seconds =
      GENERATE(-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity());
  const Pricing wrong{[&](const Program&, const Op&, const DeviceSpec&) { return Seconds(seconds); },
                      pricing().algorithm};
  CHECK_THROWS_AS(simulate(World{plan, topology, in_order(plan), wrong}, {}), std::logic_error);
  const std::vector<DeviceId> nowhere{0, 7};
  CHECK_THROWS_AS(simulate(World{plan, topology, nowhere, pricing()}, {}), std::logic_error);
  CHECK_THROWS_AS(run(plan, topology, {true, "guess"}), std::logic_error);
}
