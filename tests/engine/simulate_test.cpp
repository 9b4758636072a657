// Whole simulations of hand-made plans whose times can be worked out.
#include "sim/engine/simulate.h"

#include "tests/engine/hand_made.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::hand_made;

namespace {

constexpr double us = 1e-6;
const Span& span(const Timeline& t, std::size_t rank, OpId op) {
  return t.ranks[static_cast<std::size_t>(t.timeline_of[rank])].spans[static_cast<std::size_t>(op)];
}
bool near(double value, double expected) { return relative_error(value, expected) < 1e-9; }

// Both foldings and both solvers.
std::vector<SimulateOptions> all_options() {
  return {{true, "simgrid"}, {true, "maxmin"}, {false, "simgrid"}, {false, "maxmin"}, {true, "auto"}};
}

Program all_reduce_of(std::int64_t bytes) {
  Writer w("all");
  w.communicate(OpKind::all_reduce, Axis::data, Stream::data, bytes, 1);
  return w.program();
}

}  // namespace

TEST_CASE("operations of a stream run one after the other") {
  Writer w("all");
  const OpId a = w.compute(30), b = w.compute(20), c = w.compute(0), d = w.compute(50);
  const Timeline t = run(on_axis(Axis::data, 1, w.program()), Cluster{}.topology());
  CHECK(near(t.step_time_s, 100 * us));
  CHECK(near(span(t, 0, a).end_s, 30 * us));
  CHECK(near(span(t, 0, b).end_s, 50 * us));
  CHECK(near(span(t, 0, c).start_s, span(t, 0, c).end_s));
  CHECK(near(span(t, 0, d).start_s, 50 * us));
  CHECK(t.activities == 1);  // nothing else waits in between: one timer
  CHECK(t.executor == "simgrid");
}

TEST_CASE("a ring all-reduce takes 2(n-1) latencies and 2(n-1)/n of the buffer through each port") {
  const int n = GENERATE(2, 3, 4, 8, 16);
  const std::int64_t bytes = 100'000'000;
  const Cluster cluster{1, n};
  for (const SimulateOptions& options : all_options()) {
    const Timeline t = run(on_axis(Axis::data, n, all_reduce_of(bytes)), cluster.topology(), options);
    const double path = 2 * cluster.latency_s;  // up and down
    // Patarasuk & Yuan, JPDC 69(2), 2009.
    const double expected =
        2 * (n - 1) * path + 2.0 * (n - 1) / n * static_cast<double>(bytes) / cluster.device_bandwidth;
    CAPTURE(n, options.solver, options.fold, t.step_time_s, expected);
    CHECK(near(t.step_time_s, expected));
  }
}

TEST_CASE("collectives of nothing and of one byte take their latencies") {
  const std::int64_t bytes = GENERATE(0, 1);
  const Cluster cluster{1, 4};
  for (const SimulateOptions& options : all_options()) {
    const Timeline t = run(on_axis(Axis::data, 4, all_reduce_of(bytes)), cluster.topology(), options);
    const double latency = 6 * 2 * cluster.latency_s;
    CHECK(t.step_time_s >= latency - 1e-12);  // rounding of a clock that goes on from test to test
    CHECK(t.step_time_s <= latency + 1e-9);
  }
}

TEST_CASE("a group of one rank communicates in no time") {
  const Timeline t = run(on_axis(Axis::data, 1, all_reduce_of(1'000'000)), Cluster{}.topology());
  CHECK(t.step_time_s == 0);
}

TEST_CASE("communication on its own stream hides behind computing") {
  // An all-reduce of two ranks moves the buffer once through each port: 300 MB in 1 ms beside 2 ms of computing.
  Writer w("all");
  const OpId first = w.compute(500);
  const OpId reduce = w.communicate(OpKind::all_reduce, Axis::data, Stream::data, 300'000'000, 1, {first});
  w.compute(2000);
  w.compute(100, {reduce});
  const Cluster cluster{1, 2};
  const Timeline t = run(on_axis(Axis::data, 2, w.program()), cluster.topology());
  CHECK(near(t.step_time_s, 2600 * us));
  CHECK(near(span(t, 0, reduce).end_s, 500 * us + 1e-3 + 4 * cluster.latency_s));
}

TEST_CASE("a kernel is slowed while communication runs on its device, and the time in between is exact") {
  // 10 ms of computing in two operations; from 1 ms on an all-reduce takes a fifth of the device for 4 ms.
  const double taken = 0.2, latency = 4e-6;
  Writer w("all");
  const OpId one = w.compute(1000);
  w.communicate(OpKind::all_reduce, Axis::data, Stream::data, 1'200'000'000, 1, {one});
  const OpId two = w.compute(2000), three = w.compute(7000);
  Cluster cluster{1, 2};
  cluster.spec.communication_slowdown.value = taken;
  const double length = latency + 1.2e9 / cluster.device_bandwidth;
  for (const SimulateOptions& options : all_options()) {
    const Timeline t = run(on_axis(Axis::data, 2, w.program()), cluster.topology(), options);
    CAPTURE(options.solver, options.fold);
    CHECK(near(t.step_time_s, 10e-3 + taken * length));
    CHECK(near(span(t, 0, two).end_s, 1e-3 + 2e-3 / (1 - taken)));
    CHECK(near(span(t, 0, three).start_s, span(t, 0, two).end_s));
  }
}

TEST_CASE("four ranks on two cores compute at half speed, and slower still by what sharing costs") {
  const double sharing = 1.1;
  Writer w("all");
  w.compute(1000);
  w.compute(500);
  Cluster cluster{1, 4};
  cluster.spec.kind = DeviceSpec::Kind::cpu;
  cluster.spec.cpu.cores = 2;
  cluster.spec.cpu.core_sharing = sharing;
  for (const SimulateOptions& options : all_options()) {
    const Timeline t = run(on_axis(Axis::data, 4, w.program()), cluster.topology(), options);
    CHECK(near(t.step_time_s, 1.5e-3 * 2 * sharing));
    CHECK(near(span(t, 3, 0).end_s, 1e-3 * 2 * sharing));
  }
}

TEST_CASE("a core's rank runs at full speed once the others of the host are done") {
  // Two ranks on one core, 1 ms and 3 ms: half speed until 2 ms, then the rest of the long one alone.
  Writer small("small"), large("large");
  small.compute(1000);
  large.compute(3000);
  Cluster cluster{1, 2};
  cluster.spec.kind = DeviceSpec::Kind::cpu;
  cluster.spec.cpu.cores = 1;
  for (const SimulateOptions& options : all_options()) {
    const Timeline t = run(staged(mesh(1, 1, 2), {small.program(), large.program()}), cluster.topology(), options);
    CHECK(near(span(t, 0, 0).end_s, 2e-3));
    CHECK(near(span(t, 1, 0).end_s, 4e-3));
  }
}

TEST_CASE("a transfer between two ranks starts when both are there") {
  Writer from("stage 0"), to("stage 1");
  const OpId early = from.compute(100);
  const OpId send = from.communicate(OpKind::send, Axis::pipeline, Stream::pipeline_send, 30'000'000, 7, {early}, 1);
  const OpId late = to.compute(400);
  const OpId receive =
      to.communicate(OpKind::recv, Axis::pipeline, Stream::pipeline_receive, 30'000'000, 7, {late}, -1);
  to.compute(50, {receive});
  const Cluster cluster{1, 2};
  const Timeline t = run(staged(mesh(1, 1, 2), {from.program(), to.program()}), cluster.topology());
  const double length = 2 * cluster.latency_s + 30e6 / cluster.device_bandwidth;
  CHECK(near(span(t, 0, send).start_s, 400 * us));
  CHECK(near(span(t, 0, send).end_s, 400 * us + length));
  CHECK(near(span(t, 1, receive).end_s, 400 * us + length));
  CHECK(near(t.step_time_s, 450 * us + length));
}

TEST_CASE("n ranks that send through the one port of their host take n times as long") {
  const int n = GENERATE(2, 3, 8);
  Writer from("stage 0"), to("stage 1");
  from.communicate(OpKind::send, Axis::pipeline, Stream::pipeline_send, 25'000'000, 1, {}, 1);
  to.communicate(OpKind::recv, Axis::pipeline, Stream::pipeline_receive, 25'000'000, 1, {}, -1);
  const Cluster cluster{2, n};
  for (const SimulateOptions& options : all_options()) {
    const Timeline t = run(staged(mesh(n, 1, 2), {from.program(), to.program()}), cluster.topology(), options);
    CHECK(near(t.step_time_s, 5 * cluster.latency_s + n * 25e6 / cluster.port_bandwidth));
    CHECK(t.ranks.size() == (options.fold ? 2U : static_cast<std::size_t>(2 * n)));
  }
}

TEST_CASE("both directions of a link do not share") {
  // Ranks 0 and 1 send to each other at once: as long as one of them alone.
  Writer w("all");
  w.communicate(OpKind::send, Axis::context, Stream::pipeline_send, 30'000'000, 1, {}, 1);
  w.communicate(OpKind::recv, Axis::context, Stream::pipeline_receive, 30'000'000, 1, {}, -1);
  const Cluster cluster{1, 2};
  for (const SimulateOptions& options : all_options()) {
    const Timeline t = run(on_axis(Axis::context, 2, w.program()), cluster.topology(), options);
    CHECK(near(t.step_time_s, 2 * cluster.latency_s + 30e6 / cluster.device_bandwidth));
  }
}

TEST_CASE("twice the bandwidth halves a transfer") {
  const double factor = GENERATE(0.5, 2.0);
  Cluster slow{1, 4}, fast{1, 4};
  slow.latency_s = fast.latency_s = 0;
  fast.device_bandwidth *= factor;
  const Plan plan = on_axis(Axis::data, 4, all_reduce_of(400'000'000));
  CHECK(near(run(plan, slow.topology()).step_time_s, factor * run(plan, fast.topology()).step_time_s));
}

TEST_CASE("the account of a link: what crossed it and how long it was busy") {
  const std::int64_t bytes = 40'000'000;
  const Cluster cluster{2, 2};
  for (const SimulateOptions& options : all_options()) {
    const Timeline t = run(on_axis(Axis::data, 4, all_reduce_of(bytes)), cluster.topology(), options);
    const double moved = 2.0 * 3 / 4 * static_cast<double>(bytes);  // through each link of the ring
    int links = 0;
    for (const LinkUse& use : t.links) {
      const bool spine = cluster.topology().links[static_cast<std::size_t>(use.link)].kind == LinkClass::fabric;
      CHECK(near(use.bytes, spine ? 2 * moved : moved));  // the ring crosses the spine there and back
      CHECK(near(use.busy_s, moved / cluster.port_bandwidth));
      links += use.copies;
    }
    CHECK(links == 2 * 4 + 2 * 2 + 1);
  }
}

TEST_CASE("several simulations in one process do not see each other") {
  const Plan plan = on_axis(Axis::data, 8, all_reduce_of(1'000'000));
  const Topology topology = Cluster{2, 4}.topology();
  const double first = run(plan, topology).step_time_s;
  for (int i = 0; i < 5; ++i)
    for (const SimulateOptions& options : all_options()) CHECK(near(run(plan, topology, options).step_time_s, first));
}
