// Flows against the closed forms, and the rings behind them.
#include <map>
#include <numeric>
#include <set>

#include "sim/collective/collective.h"
#include "sim/collective/protocol.h"
#include "sim/collective/rings.h"
#include "tests/topology/support.h"

using namespace trainwire;

namespace {

std::vector<DeviceId> range(int count, int first = 0, int stride = 1) {
  std::vector<DeviceId> devices;
  for (int i = 0; i < count; ++i) devices.push_back(first + i * stride);
  return devices;
}

Flow flow(OpKind kind, const std::vector<DeviceId>& devices, double bytes, const Topology& t) {
  return choose_algorithm(kind, devices, bytes, t, "ring").flow(kind, devices, bytes, t);
}

// Seconds of a flow that has its links for itself.
double lone(const Flow& f, const Topology& t) { return alone(f, t).value; }

// Large messages go by NCCL's Simple protocol: what it takes before the first hop.
double simple_base() { return protocols().back().base.value; }

std::map<std::string, double> weights(const Flow& f, const Topology& t) {
  std::map<std::string, double> result;
  for (const auto& [link, weight] : f.links) result[t.links[static_cast<std::size_t>(link)].name] += weight;
  return result;
}

double hop(const Topology& t) { return t.latency(t.route(0, 1)).value; }

}  // namespace

TEST_CASE("ring all-reduce in one DGX takes 2(n-1) hops and 2(n-1)/n of the bytes at the port's rate") {
  const Topology t = topology_of("dgx-h100");
  const double rate = link_named(t, "node0.gpu0.nvlink.up").effective();
  for (int n = 2; n <= 8; ++n) {
    const double bytes = 1e9;  // by Simple
    CHECK(lone(flow(OpKind::all_reduce, range(n), bytes, t), t) ==
          Approx(simple_base() + 2 * (n - 1) * hop(t) + 2.0 * (n - 1) / n * bytes / rate));
    for (const OpKind kind : {OpKind::all_gather, OpKind::reduce_scatter})
      CHECK(lone(flow(kind, range(n), bytes, t), t) ==
            Approx(simple_base() + (n - 1) * hop(t) + (n - 1.0) / n * bytes / rate));
  }
}

TEST_CASE("a group of one moves nothing") {
  const Topology t = topology_of("dgx-h100");
  for (const OpKind kind :
       {OpKind::all_reduce, OpKind::all_gather, OpKind::reduce_scatter, OpKind::all_to_all, OpKind::broadcast}) {
    const Flow f = flow(kind, {3}, 1e6, t);
    CHECK(f.links.empty());
    CHECK(f.latency.value == 0);
  }
}

TEST_CASE("a group over whole nodes uses every port once and every NVLink port once a ring") {
  for (const int nodes : {2, 3, 5}) {
    const Topology t = topology_of("{use: dgx-h100, nodes: " + std::to_string(nodes) + "}");
    const int n = 8 * nodes;
    const double bytes = 1e9;
    const Flow f = flow(OpKind::all_reduce, range(n), bytes, t);
    CHECK(f.bytes == Approx(2.0 * (n - 1) / n * bytes / 8));
    const auto w = weights(f, t);
    CHECK(w.size() == static_cast<std::size_t>(32 * nodes));
    // Eight rings of eight edges a node each; the edge that leaves crosses NVLink to reach its port.
    for (const auto& [name, weight] : w) CHECK(weight == (name.find("nic") != std::string::npos ? 1 : 8));
  }
}

TEST_CASE("bus bandwidth between DGX H100 nodes is that of all network ports together") {
  const Topology t = topology_of("{use: dgx-h100, nodes: 4}");
  const double bytes = 64e9;  // large enough for latency not to count
  const double seconds = lone(flow(OpKind::all_reduce, range(32), bytes, t), t);
  const double ports = 8 * link_named(t, "node0.nic0.transmit").effective();
  const double nvlink = link_named(t, "node0.gpu0.nvlink.up").effective();
  CHECK(bytes / seconds * bus_factor(OpKind::all_reduce, 32) == Approx(std::min(ports, nvlink)).epsilon(0.01));
}

TEST_CASE("a group with one member a node uses that member's port alone") {
  const Topology t = topology_of("{use: dgx-h100, nodes: 4}");
  const double bytes = 25e6;
  const Flow f = flow(OpKind::all_reduce, range(4, 3, 8), bytes, t);
  CHECK(f.bytes == Approx(2.0 * 3 / 4 * bytes));
  const auto w = weights(f, t);
  REQUIRE(w.size() == 8);
  for (const auto& [name, weight] : w) {
    CHECK(name.find(".nic3.") != std::string::npos);
    CHECK(weight == 1);
  }
  CHECK(f.latency.value ==
        Approx(simple_base() * start_scale(range(4, 3, 8), t) + 6 * t.latency(t.route(3, 11)).value));
}

TEST_CASE("groups whose members share a network port load it together") {
  // DGX-1V: GPUs 0 and 1 share port 0. Two data-parallel groups over two nodes cross the same port.
  const Topology t = topology_of("{use: dgx-1v, nodes: 2}");
  const auto a = weights(flow(OpKind::all_reduce, {0, 8}, 1e6, t), t);
  const auto b = weights(flow(OpKind::all_reduce, {1, 9}, 1e6, t), t);
  for (const auto* port : {"node0.nic0.transmit", "node0.nic0.receive", "node1.nic0.transmit", "node1.nic0.receive"}) {
    CHECK(a.at(port) == 1);
    CHECK(b.at(port) == 1);
  }
}

TEST_CASE("an oversubscribed spine is loaded by every ring that crosses it") {
  const Topology t =
      topology_of("{use: dgx-h100, nodes: 4, fabric: {kind: leaf-spine, hosts_per_leaf: 2, oversubscription: 4}}");
  const auto w = weights(flow(OpKind::all_reduce, range(32), 1e9, t), t);
  CHECK(w.at("leaf0.spine0.up") == 8);  // eight rings leave each leaf once
  CHECK(w.at("leaf1.spine0.down") == 8);
}

TEST_CASE("rings between hosts stay on their rail") {
  const Topology t = topology_of("{use: dgx-h100, nodes: 3, fabric: rail}");
  for (const auto& [link, weight] : flow(OpKind::all_reduce, range(24), 1e9, t).links)
    if (t.links[static_cast<std::size_t>(link)].kind == LinkClass::nic) CHECK(weight == 1);
}

TEST_CASE("the rings of a DGX-1V use every NVLink once each way: six links a GPU") {
  const Topology t = topology_of("dgx-1v");
  const auto found = rings(range(8), t);
  CHECK(found.size() == 6);
  const double bytes = 1e9;
  const Flow f = flow(OpKind::all_reduce, range(8), bytes, t);
  double nvlinks = 0;
  for (const auto& [link, weight] : f.links) {
    const Link& l = t.links[static_cast<std::size_t>(link)];
    CHECK(l.kind == LinkClass::nvlink);
    CHECK(weight == Approx(l.bandwidth.value.value / 25e9));
    nvlinks += weight;
  }
  CHECK(nvlinks == 8 * 6);
  // NCCL on 8 V100: bus bandwidth 134 GB/s measured (vTrain, MICRO'24); the closed form is 6 links of 25 GB/s at their
  // efficiency
  const double efficiency = link_named(t, "node0.gpu0-gpu3.nvlink").efficiency.value;
  CHECK(bytes * bus_factor(OpKind::all_reduce, 8) / (lone(f, t) - f.latency.value) == Approx(6 * 25e9 * efficiency));
}

TEST_CASE("part of a DGX-1V has as many rings as its NVLinks allow") {
  // Measured bus bandwidth of 2, 3, 4 and 6 V100, in NVLinks of 22.6 GB/s: 1, 2, 4, 2 (vTrain, MICRO'24)
  const Topology t = topology_of("dgx-1v");
  const double link = 25e9 * link_named(t, "node0.gpu0-gpu3.nvlink").efficiency.value;
  for (const auto& [n, links] : {std::pair{2, 1}, std::pair{3, 2}, std::pair{4, 4}, std::pair{6, 2}}) {
    CAPTURE(n);
    const Flow f = flow(OpKind::all_reduce, range(n), 1e9, t);
    CHECK(1e9 * bus_factor(OpKind::all_reduce, n) / (lone(f, t) - f.latency.value) == Approx(links * link));
  }
}

TEST_CASE("NVLink pairs help a group of two, not one of four that must cross PCIe anyway") {
  const Topology pairs = topology_of("pcie-4x3090-nvlink-pairs"), plain = topology_of("pcie-4x3090");
  const auto seconds = [](const Topology& t, int n) { return lone(flow(OpKind::all_reduce, range(n), 1e9, t), t); };
  CHECK(seconds(pairs, 2) < 0.5 * seconds(plain, 2));
  CHECK(seconds(pairs, 4) == Approx(seconds(plain, 4)).epsilon(0.02));
}

TEST_CASE("every ring goes through every member once, whatever their order and number") {
  for (const std::string name : {"dgx-1v", "dgx-a100", "pcie-4x3090-nvlink-pairs"})
    for (const int nodes : {1, 2, 3}) {
      const Topology t = topology_of("{use: " + name + ", nodes: " + std::to_string(nodes) + "}");
      for (int n = 1; n <= static_cast<int>(t.devices.size()); ++n) {
        CAPTURE(name, nodes, n);
        const auto devices = range(n);
        for (const Ring& ring : rings(devices, t)) {
          CHECK(ring.order.size() == devices.size());
          CHECK(std::set<DeviceId>(ring.order.begin(), ring.order.end()).size() == devices.size());
        }
      }
    }
}

TEST_CASE("ranks of one machine load its memory once an edge of the ring") {
  const Topology t = topology_of(R"(
host:
  kind: shared-memory
  devices: 4
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
  for (int n = 2; n <= 4; ++n)
    CHECK(lone(flow(OpKind::all_reduce, range(n), 1e6, t), t) ==
          Approx(2 * (n - 1) * 3e-6 + n * (2.0 * (n - 1) / n * 1e6) / 8e9));
}

TEST_CASE("a message takes latency and size over the narrowest link of its route") {
  const Topology t = topology_of("{use: dgx-h100, nodes: 2}");
  const Path path = t.route(1, 9);
  CHECK(lone(flow(OpKind::send, {1, 9}, 1e8, t), t) == Approx(t.latency(path).value + 1e8 / t.bottleneck(path)));
}

TEST_CASE("all-to-all in one DGX sends (n-1)/n of the buffer through every port") {
  const Topology t = topology_of("dgx-h100");
  const double rate = link_named(t, "node0.gpu0.nvlink.up").effective();
  for (int n = 2; n <= 8; ++n)
    CHECK(lone(flow(OpKind::all_to_all, range(n), 1e9, t), t) == Approx(hop(t) + (n - 1.0) / n * 1e9 / rate));
}

TEST_CASE("bus factors are those of nccl-tests") {
  // nccl-tests, doc/PERFORMANCE.md: all-reduce 2(n-1)/n; all-gather, reduce-scatter, all-to-all (n-1)/n; broadcast 1
  CHECK(bus_factor(OpKind::all_reduce, 8) == Approx(2 * 7.0 / 8));
  CHECK(bus_factor(OpKind::all_gather, 8) == Approx(7.0 / 8));
  CHECK(bus_factor(OpKind::reduce_scatter, 4) == Approx(3.0 / 4));
  CHECK(bus_factor(OpKind::all_to_all, 2) == Approx(1.0 / 2));
  CHECK(bus_factor(OpKind::broadcast, 8) == 1);
}

TEST_CASE("the flow of 2,048 members has links in proportion to them") {
  const Topology t = topology_of("{use: dgx-h100, nodes: 256}");
  CHECK(flow(OpKind::all_reduce, range(2048), 1e9, t).links.size() == 2048 * 4);
}
