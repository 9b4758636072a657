// `disturbances:`, `placement: scattered` and `collectives:` as a person writes them.
#include <set>

#include "tests/scenario/scenarios.h"

using namespace trainwire;

namespace {

std::string with(const std::string& more) { return toy + more + "\n"; }

const Link& link(const Scenario& s, const std::string& name) {
  for (const Link& l : s.topology.links)
    if (l.name == name) return l;
  throw std::logic_error(name);
}

}  // namespace

TEST_CASE("a disturbance changes what it names and nothing else") {
  const Scenario whole = load(toy);
  const Scenario s =
      load(with("disturbances:\n  - {slow_device: node0.gpu3, speed: 0.5}\n  - {degraded_link: node0.gpu1.nvlink, "
                "capacity: 0.25}\n"
                "  - {background: node0.gpu2.nvlink.up, rate: 10 GB/s}"));
  CHECK(s.topology.spec(3).vector_rate.value == whole.topology.spec(3).vector_rate.value * 0.5);
  CHECK(s.topology.spec(3).launch.value == whole.topology.spec(3).launch.value * 2);
  CHECK(s.topology.spec(2).vector_rate.value == whole.topology.spec(2).vector_rate.value);
  for (const Link& l : whole.topology.links) {
    const double now = link(s, l.name).effective();
    if (l.name.starts_with("node0.gpu1.nvlink"))
      CHECK(now == Approx(l.effective() / 4));
    else if (l.name == "node0.gpu2.nvlink.up")
      CHECK(now == Approx(l.effective() - 10e9));
    else
      CHECK(now == l.effective());
  }
}

TEST_CASE("a disturbance that cannot be is refused with its line") {
  const auto said = [](const std::string& item) { return refusal(with("disturbances:\n  - " + item)); };
  CHECK_THAT(said("{slow_device: node0.gpu9}"),
             contains("x.yaml:6: disturbances[0].slow_device = node0.gpu9: is no device"));
  CHECK_THAT(said("{degraded_link: node0.gpu1.nvlnk}"),
             contains("is no link of this topology. Did you mean node0.gpu1.nvlink"));
  CHECK_THAT(said("{degraded_link: node0.gpu1.nvlink, capacity: 1.5}"), contains("capacity"));
  CHECK_THAT(said("{background: node0.gpu1.nvlink, rate: 900 GB/s}"),
             contains("leaves nothing of node0.gpu1.nvlink.up"));
  CHECK_THAT(said("{failed_link: node0.gpu1.nvlink}"), contains("cuts the cluster: node0.gpu"));
  CHECK_THAT(said("{earthquake: 7}"), contains("names no disturbance"));
  CHECK_THAT(said("{slow_device: node0.gpu1, sped: 2}"), contains("sped"));
}

TEST_CASE("jitter is read, with its runs and its seed") {
  const Scenario s = load(with("disturbances: [{jitter: 0.05, runs: 7, seed: 3}]"));
  CHECK(s.jitter.spread == 0.05);
  CHECK(s.jitter.runs == 7);
  CHECK(s.jitter.seed == 3);
  CHECK(load(toy).jitter.spread == 0);
}

TEST_CASE("a scattered placement is a permutation that its seed fixes") {
  const auto placement = [](const std::string& text) { return load(with("placement: " + text)).placement; };
  const auto a = placement("scattered"), b = placement("{scattered: 1}"), c = placement("{scattered: 2}");
  CHECK(a == b);
  CHECK(a != c);
  CHECK(std::set<DeviceId>(c.begin(), c.end()).size() == 8);
  CHECK(placement("[7, 6, 5, 4, 3, 2, 1, 0]")[0] == 7);
  CHECK_THAT(refusal(with("placement: {scatered: 2}")), contains("scatered"));
  CHECK_THAT(refusal(with("placement: [0, 0]")), contains("placement"));
}

TEST_CASE("collectives can be chosen for all axes or by axis") {
  CHECK(load(with("collectives: tree")).collectives[static_cast<std::size_t>(Axis::data)] == "tree");
  const Scenario s = load(with("collectives: {tensor: ring, data: auto}"));
  CHECK(s.collectives[static_cast<std::size_t>(Axis::tensor)] == "ring");
  CHECK(s.collectives[static_cast<std::size_t>(Axis::data)].empty());
  CHECK_THAT(refusal(with("collectives: {tensor: rung}")), contains("ring"));
}
