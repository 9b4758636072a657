// Routes of the machines that ship and of each kind of host.
#include <algorithm>
#include <chrono>
#include <set>

#include "tests/topology/support.h"

using namespace trainwire;
using Names = std::vector<std::string>;

TEST_CASE("a route inside a DGX H100 goes up one GPU's port and down the other's") {
  const Topology t = topology_of("dgx-h100");
  REQUIRE(t.devices.size() == 8);
  CHECK(names_of(t, t.route(2, 5)) == Names{"node0.gpu2.nvlink.up", "node0.gpu5.nvlink.down"});
  CHECK(t.route(3, 3).links.empty());
}

TEST_CASE("a route between DGX H100s leaves through the port near the sender and enters near the receiver") {
  const Topology t = topology_of("{use: dgx-h100, nodes: 2}");
  CHECK(names_of(t, t.route(2, 8 + 5)) == Names{"node0.nic2.transmit", "node1.nic5.receive"});
  CHECK(names_of(t, t.route(2, 8 + 5, 4)) ==
        Names{"node0.gpu2.nvlink.up", "node0.gpu4.nvlink.down", "node0.nic4.transmit", "node1.nic5.receive"});
}

TEST_CASE("latency of a route is the sum over its links, bandwidth the lowest of them") {
  const Topology t = topology_of("{use: dgx-a100, nodes: 2}");
  const Path inside = t.route(0, 1), across = t.route(0, 8);
  // 12 NVLinks of 25 GB/s each way; 200 Gb/s are 25 GB/s
  const double nvlink = 12 * 25e9 * link_named(t, "node0.gpu0.nvlink.up").efficiency.value;
  const double nic = 200e9 / 8 * link_named(t, "node0.nic0.transmit").efficiency.value;
  CHECK(t.bottleneck(inside) == Approx(nvlink));
  CHECK(t.bottleneck(across) == Approx(nic));
  CHECK(t.latency(across).value == Approx(2 * link_named(t, "node0.nic0.transmit").latency.value.value));
}

TEST_CASE("every device of the machines that ship reaches every other, both ways, over links that exist") {
  for (const std::string name :
       {"dgx-1v", "dgx-a100", "dgx-h100", "dgx-h200", "pcie-4x3090", "pcie-4x3090-nvlink-pairs"}) {
    const Topology t = topology_of("{use: " + name + ", nodes: 3}");
    CAPTURE(name);
    for (DeviceId a = 0; a < static_cast<DeviceId>(t.devices.size()); ++a)
      for (DeviceId b = 0; b < static_cast<DeviceId>(t.devices.size()); ++b) {
        const Path path = t.route(a, b);
        CHECK(path.links.empty() == (a == b));
        for (const LinkId link : path.links) REQUIRE((link >= 0 && link < static_cast<LinkId>(t.links.size())));
        CHECK(t.route(b, a).links.size() == path.links.size());
      }
  }
}

TEST_CASE("the NVLinks of a DGX-1V form the hybrid cube mesh: six a GPU, four neighbours, halves joined by one each") {
  const Topology t = topology_of("dgx-1v");
  for (DeviceId a = 0; a < 8; ++a) {
    double links = 0;
    std::set<DeviceId> neighbours;
    for (DeviceId b = 0; b < 8; ++b) {
      const Path path = t.route(a, b);
      if (a == b || path.links.size() != 1) continue;
      const Link& link = t.links[static_cast<std::size_t>(path.links[0])];
      REQUIRE(link.kind == LinkClass::nvlink);
      links += link.bandwidth.value.value / 25e9;  // 25 GB/s each way a link
      neighbours.insert(b);
    }
    CHECK(links == Approx(6));
    CHECK(neighbours.size() == 4);
    const auto other_half =
        std::count_if(neighbours.begin(), neighbours.end(), [&](DeviceId b) { return (a < 4) != (b < 4); });
    CHECK(other_half == 1);
  }
}

TEST_CASE("GPUs of a DGX-1V without NVLink between them go over PCIe, and over the socket link to the other half") {
  const Topology t = topology_of("dgx-1v");
  CHECK(names_of(t, t.route(0, 5)) == Names{"node0.gpu0.pcie.up", "node0.switch0.up", "node0.socket0-socket1",
                                            "node0.switch2.down", "node0.gpu5.pcie.down"});
}

TEST_CASE("two GPUs of a DGX-1V share the network port of their PCIe switch") {
  const Topology t = topology_of("dgx-1v");
  for (DeviceId gpu = 0; gpu < 8; ++gpu) CHECK(t.nearest_nic(gpu) == gpu / 2);
}

TEST_CASE("devices that see several equally near ports take turns") {
  const Topology t = topology_of(R"(
host:
  kind: pcie-tree
  gpus: 4
  gpu: a100-sxm-40gb
  tree: [[[gpu0, gpu1, nic0, nic1], [gpu2, gpu3, nic2, nic3]]]
  pcie: &p {bandwidth: {value: 32 GB/s, assumed: t}, latency: {value: 1 us, assumed: t}}
  uplink: *p
  nics: 4
  nic: {bandwidth: {value: 25 GB/s, assumed: t}, latency: {value: 2 us, assumed: t}}
)");
  for (DeviceId gpu = 0; gpu < 4; ++gpu) CHECK(t.nearest_nic(gpu) == gpu);
}

TEST_CASE("with NVLink pairs a pair goes over its bridge, others over PCIe") {
  const Topology t = topology_of("pcie-4x3090-nvlink-pairs");
  CHECK(names_of(t, t.route(1, 0)) == Names{"node0.gpu1-gpu0.nvlink"});
  CHECK(names_of(t, t.route(1, 2)) == Names{"node0.gpu1.pcie.up", "node0.gpu2.pcie.down"});
}

TEST_CASE("ranks of one machine exchange messages over its memory, one link for both directions") {
  const Topology t = topology_of(R"(
devices: 4
host:
  kind: shared-memory
  devices: 2
  device:
    name: cpu
    kind: cpu
    memory: {value: 16 GiB, assumed: t}
    memory_bandwidth: {value: 20 GB/s, assumed: t}
    peak: {fp32: {value: 50 GFLOP/s, assumed: t}}
    vector_rate: {value: 10 GFLOP/s, assumed: t}
    launch: {value: 1 us, assumed: t}
  memory: {bandwidth: {value: 8 GB/s, assumed: t}, latency: {value: 3 us, assumed: t}}
)");
  REQUIRE(t.devices.size() == 4);
  CHECK(t.specs[0].kind == DeviceSpec::Kind::cpu);
  CHECK(names_of(t, t.route(0, 3)) == Names{"node0.memory"});
  CHECK(t.route(3, 0).links == t.route(0, 3).links);
}

TEST_CASE("`devices` takes the first GPUs of each host, which keep their own ports") {
  const Topology t = topology_of("{use: dgx-h100, nodes: 2, devices: 2}");
  REQUIRE(t.devices.size() == 4);
  CHECK(t.devices[3].name == "node1.gpu1");
  CHECK(names_of(t, t.route(1, 3)) == Names{"node0.nic1.transmit", "node1.nic1.receive"});
}

TEST_CASE("a shortest route has the fewest links, then the lowest latency") {
  const Topology t = topology_of(R"(
host:
  kind: graph
  gpus: 2
  gpu: l40s
  switches: [a, b, c]
  links:
    - {between: [gpu0, a], bandwidth: {value: 1 GB/s, assumed: t}, latency: {value: 9 us, assumed: t}}
    - {between: [gpu0, b], bandwidth: {value: 2 GB/s, assumed: t}, latency: {value: 1 us, assumed: t}}
    - {between: [a, gpu1], bandwidth: {value: 1 GB/s, assumed: t}, latency: {value: 9 us, assumed: t}}
    - {between: [b, gpu1], bandwidth: {value: 2 GB/s, assumed: t}, latency: {value: 1 us, assumed: t}, count: 3}
    - {from: b, to: c, bandwidth: {value: 9 GB/s, assumed: t}, latency: {value: 0.1 us, assumed: t}}
    - {from: c, to: gpu1, bandwidth: {value: 9 GB/s, assumed: t}, latency: {value: 0.1 us, assumed: t}}
)");
  CHECK(names_of(t, t.route(0, 1)) == Names{"node0.gpu0-b", "node0.b-gpu1"});
  CHECK(t.bottleneck(t.route(0, 1)) == Approx(2e9));
  CHECK(link_named(t, "node0.b-gpu1").bandwidth.value.value == Approx(6e9));
}

TEST_CASE("2,048 hosts of 8 GPUs hold links in proportion to their devices and routes of constant length") {
  const Topology t =
      topology_of("{use: dgx-h100, nodes: 2048, fabric: {kind: leaf-spine, hosts_per_leaf: 16, oversubscription: 2}}");
  CHECK(t.devices.size() == 16384);
  CHECK(t.links.size() == 16384 * 4 + 2 * 128);  // ports up and down, NICs both ways; 128 leaves
  CHECK(t.route(5, 16383).links.size() == 4);
}
