// What a person gets told about a topology that is wrong.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/topology/support.h"

using namespace trainwire;
using Catch::Matchers::Contains;

namespace {

// A sound topology in place, with one text replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string yaml = R"(host:
  kind: nvswitch
  gpus: 4
  gpu: h100-sxm
  nvlink:
    bandwidth: {value: 450 GB/s, datasheet: t}
    latency: {value: 1 us, assumed: t}
  nics: 2
  nic:
    bandwidth: {value: 50 GB/s, datasheet: t}
    latency: {value: 1 us, assumed: t}
nodes: 2
fabric: switch
)";
  const auto at = yaml.find(from);
  REQUIRE(at != std::string::npos);
  return yaml.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("the sound topology of these tests is accepted") { CHECK(messages_of(changed("t", "t")).empty()); }

TEST_CASE("a name that is not there lists near ones") {
  CHECK_THAT(messages_of("dgx-h10"),
             Contains("test.yaml:1: topology = dgx-h10: is not in topologies/") && Contains("dgx-h100"));
  CHECK_THAT(messages_of("{use: dgx-a10}"), Contains("topology.use = dgx-a10") && Contains("dgx-a100"));
  CHECK_THAT(messages_of(changed("h100-sxm", "h100-smx")), Contains("test.yaml:4:") && Contains("h100-sxm"));
  CHECK_THAT(messages_of(changed("nvswitch", "nvswich")),
             Contains("test.yaml:2: topology.host.kind = nvswich") && Contains("nvswitch"));
  CHECK_THAT(messages_of(changed("fabric: switch", "fabric: swich")), Contains("test.yaml:13:") && Contains("switch"));
}

TEST_CASE("a machine that was not measured yet says how to measure it") {
  setenv("TRAINWIRE_HOME", "/nowhere", 1);
  const std::string text = messages_of("this-machine");
  unsetenv("TRAINWIRE_HOME");
  CHECK_THAT(text, Contains("trainwire calibrate"));
}

TEST_CASE("numbers need a unit and a source") {
  CHECK_THAT(messages_of(changed("{value: 450 GB/s, datasheet: t}", "450 GB/s")),
             Contains("test.yaml:6: topology.host.nvlink.bandwidth = 450 GB/s: needs its source"));
  CHECK_THAT(messages_of(changed("450 GB/s, datasheet: t", "450 GB/s")), Contains("needs its source"));
  CHECK_THAT(messages_of(changed("450 GB/s", "450")), Contains("nvlink.bandwidth.value = 450: has no unit"));
  CHECK_THAT(messages_of(changed("450 GB/s", "-1 GB/s")), Contains("nvlink.bandwidth.value = -1 GB/s"));
  CHECK_THAT(messages_of(changed("450 GB/s", "0 GB/s")), Contains("more than zero"));
  CHECK_THAT(messages_of(changed("datasheet: t", "datasheet: t, assumed: t")), Contains("several origins"));
  CHECK_THAT(messages_of(changed("450 GB/s", "450 us")), Contains("must be a number with a unit"));
}

TEST_CASE("missing, unknown and impossible keys are all told at once") {
  const std::string text = messages_of(changed("gpus: 4", "gpuz: 4\n  colour: red"));
  CHECK_THAT(text, Contains("topology.host.gpus: is missing") && Contains("gpuz") && Contains("colour"));
  CHECK_THAT(messages_of(changed("gpus: 4", "gpus: 0")), Contains("topology.host.gpus = 0"));
  CHECK_THAT(messages_of(changed("nodes: 2", "nodes: -3")), Contains("topology.nodes = -3"));
  CHECK_THAT(messages_of(changed("nodes: 2", "nodes: 2\ndevices: 5")),
             Contains("topology.devices = 5: is more than the host's 4"));
  CHECK_THAT(messages_of("nodes: 2"), Contains("topology.host: is missing"));
  CHECK_THAT(messages_of("{use: dgx-h100, nodes: 2, fabric: {kind: leaf-spine, oversubscription: 4}}"),
             Contains("hosts_per_leaf"));
  CHECK_THAT(messages_of("[1, 2]"), Contains("must be a name, a path or a mapping"));
  CHECK_THAT(messages_of("./no-such.yaml"), Contains("./no-such.yaml") && Contains("is not there"));
}

TEST_CASE("hosts without a network are not connected, and two devices are named") {
  CHECK_THAT(messages_of(changed("fabric: switch", "fabric: none")), Contains("node0.gpu0 cannot reach node1.gpu0"));
  const std::string no_ports =
      messages_of("{use: pcie-4x3090, nodes: 2, fabric: {kind: graph, switches: [s], links: []}}");
  CHECK_THAT(no_ports, Contains("node0.gpu0 cannot reach node1.gpu0"));
}

TEST_CASE("a host whose graph falls apart names two devices that do not reach each other") {
  CHECK_THAT(messages_of(R"(
host:
  kind: graph
  gpus: 3
  gpu: l40s
  links:
    - {between: [gpu0, gpu1], bandwidth: {value: 1 GB/s, assumed: t}, latency: {value: 1 us, assumed: t}}
)"),
             Contains("node0.gpu0 cannot reach node0.gpu2"));
}

TEST_CASE("a one-way link is not enough") {
  CHECK_THAT(messages_of(R"(
host:
  kind: graph
  gpus: 2
  gpu: l40s
  links:
    - {from: gpu0, to: gpu1, bandwidth: {value: 1 GB/s, assumed: t}, latency: {value: 1 us, assumed: t}}
)"),
             Contains("node0.gpu1 cannot reach node0.gpu0"));
}

TEST_CASE("a PCIe tree must place every device once") {
  const auto with_tree = [](const std::string& tree) {
    return messages_of(R"(
host:
  kind: pcie-tree
  gpus: 2
  gpu: l40s
  pcie: {bandwidth: {value: 1 GB/s, assumed: t}, latency: {value: 1 us, assumed: t}}
  tree: )" + tree + "\n");
  };
  CHECK(with_tree("[[gpu0, gpu1]]").empty());
  CHECK_THAT(with_tree("[[gpu0]]"), Contains("does not say where gpu1 is plugged in"));
  CHECK_THAT(with_tree("[[gpu0, gpu1, gpu1]]"), Contains("stands in the tree twice"));
  CHECK_THAT(with_tree("[[gpu0, gpu1, gpu2]]"), Contains("is no device or port of this host"));
  CHECK_THAT(with_tree("[[gpu0], [gpu1]]"), Contains("topology.host.socket_link: is missing"));
  CHECK_THAT(with_tree("gpu0"), Contains("must be a list of sockets"));
}

TEST_CASE("files that use each other in a circle end with a message") {
  const auto folder = std::filesystem::temp_directory_path() / "trainwire-topology-test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "a.yaml") << "use: ./b.yaml\n";
  std::ofstream(folder / "b.yaml") << "use: ./a.yaml\n";
  CHECK_THAT(messages_of((folder / "a.yaml").string()), Contains("leads through too many files"));
  std::filesystem::remove_all(folder);
}
