// Hand-made programs, clusters and prices, so that the engine's times can be worked out without any other part.
#pragma once
#include <string>
#include <vector>

#include "sim/engine/engine.h"

namespace trainwire::hand_made {

// Hosts with `devices` each. Every device has a link up and one down; every host a network port up and one down, shared
// by its devices; all traffic between hosts crosses one spine link.
struct Cluster {
  int hosts = 1, devices = 1;
  double device_bandwidth = 300e9, port_bandwidth = 25e9, spine_bandwidth = 1e15;  // bytes per second
  double latency_s = 1e-6;                                                         // of each link
  DeviceSpec spec = {};
  Topology topology() const;
};

// One program, operation by operation, in the order of its streams.
class Writer {
 public:
  explicit Writer(std::string role);
  // Whole microseconds alone on the device. Returns the operation's id.
  OpId compute(int microseconds, std::vector<OpId> after = {}, Stream stream = Stream::compute);
  OpId communicate(OpKind kind, Axis axis, Stream stream, std::int64_t bytes, std::uint32_t tag,
                   std::vector<OpId> after = {}, int peer = 0);
  Program program() const { return program_; }

 private:
  OpId add(Op op, const std::vector<OpId>& after);
  Program program_;
};

// The same program on every rank of one axis.
Plan on_axis(Axis axis, int ranks, const Program& program);
// Programs by coordinate on the pipeline axis.
Plan staged(DeviceMesh mesh, std::vector<Program> programs);
DeviceMesh mesh(int tensor, int data, int pipeline);

// Ranks on devices in order.
std::vector<DeviceId> in_order(const Plan& plan);

// Prices: computing as Writer was told, rings (2(n-1) steps for all_reduce, n-1 for the others), direct transfers.
const Pricing& pricing();

Timeline run(const Plan& plan, const Topology& topology, const SimulateOptions& options = {});

}  // namespace trainwire::hand_made
