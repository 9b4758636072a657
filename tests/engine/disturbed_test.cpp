// Disturbed clusters: folding stays exact, a step never gets faster, and what it is bound by shows.
#include <fstream>
#include <random>

#include "sim/build/build.h"
#include "sim/engine/simulate.h"
#include "tests/config/files.h"
#include "tests/test.h"

using namespace trainwire;

namespace {

const std::string cluster =
    "topology: {use: dgx-h100, nodes: 4, fabric: {kind: leaf-spine, hosts_per_leaf: 2, spines: 4, "
    "oversubscription: 2}}\n";

// A small transformer with tensor 4, pipeline 2 and data 4 on four hosts.
Scenario scenario(const std::string& more, const std::string& topology = cluster) {
  const TestFolder folder("disturbed");
  return load_scenario(folder.write("x.yaml",
                                    "model: {family: transformer, layers: 4, hidden: 512, heads: 8, ffn_hidden: 2048, "
                                    "vocab: 1024, positions: rotary, "
                                    "norm: rms_norm, activation: swiglu, source: test}\n" +
                                        topology + "training: {sequence: 512, micro_batch: 1, global_batch: 16}\n" +
                                        "strategy: {data: 4, tensor: 4, pipeline: 2}\n" + more + "\n"));
}

double step(const Scenario& s, bool fold = true) {
  return simulate(s, build_plan(s), SimulateOptions{fold, "auto"}).step_time_s;
}

}  // namespace

TEST_CASE("folding changes no time on disturbed clusters, scattered placements and hashed routes") {
  std::mt19937 random(4);
  const auto pick = [&](int n) { return std::to_string(std::uniform_int_distribution<int>(0, n - 1)(random)); };
  for (int round = 0; round < 24; ++round) {
    std::string more = "disturbances:\n";
    more +=
        "  - {slow_device: node" + pick(4) + ".gpu" + pick(8) + ", speed: 0." + std::to_string(5 + round % 5) + "}\n";
    if (round % 2 == 0) more += "  - {degraded_link: node" + pick(4) + ".nic" + pick(8) + ", capacity: 0.3}\n";
    if (round % 3 == 0) more += "  - {background: leaf0.spine" + pick(4) + ".up, rate: 20 GB/s}\n";
    if (round % 4 == 0) more += "  - {failed_link: leaf1.spine" + pick(4) + "}\n";
    if (round % 5 == 0) more += "placement: {scattered: " + std::to_string(round) + "}\n";
    const std::string topology = round % 2 == 0 ? cluster : cluster.substr(0, cluster.size() - 3) + ", hash: 5}}\n";
    CAPTURE(round, more);
    const Scenario s = scenario(more, topology);
    CHECK(relative_error(step(s, true), step(s, false)) < 1e-9);
  }
}

TEST_CASE("a slower device or a narrower link never makes the step shorter") {
  const double whole = step(scenario(""));
  for (const std::string item :
       {"{slow_device: node2.gpu5, speed: 0.5}", "{degraded_link: node0.nic1, capacity: 0.1}",
        "{background: node1.nic2.transmit, rate: 30 GB/s}", "{degraded_link: node3.gpu0.nvlink, capacity: 0.2}"})
    CHECK(step(scenario("disturbances: [" + item + "]")) >= whole * (1 - 1e-9));
  // One device at half speed holds up all the others: the step takes nearly its computing twice.
  CHECK(step(scenario("disturbances: [{slow_device: node2.gpu5, speed: 0.25}]")) > 1.5 * whole);
}

TEST_CASE("more bandwidth never makes a plan slower where no two transfers share a link") {
  double before = 1e300;
  for (const char* bandwidth : {"50", "100", "200", "400", "800"}) {
    const std::string topology =
        std::string("topology: {host: {kind: nvswitch, gpus: 4, gpu: h100-sxm, nvlink: {bandwidth: {value: ") +
        bandwidth + " GB/s, assumed: t}, latency: {value: 1 us, assumed: t}}}}\n";
    const TestFolder folder("bandwidth");
    const Scenario s = load_scenario(folder.write(
        "x.yaml", "model: {use: gpt2-124m, vocab: 50304}\n" + topology +
                      "training: {sequence: 1024, micro_batch: 1, global_batch: 4}\nstrategy: {tensor: 4}\n"));
    const double now = step(s);
    CHECK(now <= before);
    before = now;
  }
}

TEST_CASE("no link carries more than it can, and what was sent is what was carried") {
  for (const std::string algorithm : {"ring", "tree", "hierarchical", "auto"}) {
    const Scenario s = scenario("collectives: " + algorithm);
    const Timeline t = simulate(s, build_plan(s), SimulateOptions{false, "auto"});
    double sent = 0, received = 0;
    for (const LinkUse& use : t.links) {
      const Link& link = s.topology.links[static_cast<std::size_t>(use.link)];
      CHECK(use.bytes <= link.effective() * use.busy_s * (1 + 1e-6));
      CHECK(use.busy_s <= t.step_time_s * (1 + 1e-9));
      if (link.name.ends_with(".transmit")) sent += use.bytes;
      if (link.name.ends_with(".receive")) received += use.bytes;
    }
    CHECK(sent > 0);
    CHECK(sent == Approx(received));
  }
}
