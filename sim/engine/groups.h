// Who communicates with whom, over which links: every group of every axis and every pair of sender and receiver.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "sim/collective/collective.h"
#include "sim/engine/program.h"

namespace trainwire {

// What the host of a rank does for an operation: the time to launch its kernels, and whether it waits for the end.
struct Issue {
  double seconds = 0;
  bool waits = false;
};

// What the engine asks of other folders; tests put their own in.
struct Pricing {
  std::function<Seconds(const Program&, const Op&, const DeviceSpec&)> duration;
  std::function<const CollectiveAlgorithm&(OpKind, Axis, std::span<const DeviceId>, double bytes, const Topology&)>
      algorithm;
  std::function<Issue(const Program&, const Op&)> issue = {};  // empty: hosts are never what is waited for
};

// What is to be simulated.
struct World {
  const Plan& plan;
  const Topology& topology;
  std::span<const DeviceId> placement;  // rank -> device
  const Pricing& pricing;
};

// The links that an algorithm loads for one kind of operation. They do not depend on the size.
struct GroupRoute {
  OpKind kind = OpKind::send;
  const CollectiveAlgorithm* algorithm = nullptr;
  Flow flow;  // of the first size that was met
};

struct Group {
  Axis axis = Axis::tensor;
  bool pair = false;  // members: sender, receiver
  std::vector<Rank> members;
  std::vector<GroupRoute> routes;
};

struct Groups {
  std::vector<Group> groups;
  std::vector<std::vector<std::int32_t>> of;  // [rank][endpoint of its program] -> group
};

Groups find_groups(const World&, const std::vector<CompiledProgram>&);

// Flow of one operation in a group. Throws std::logic_error where it has numbers that cannot be simulated.
Flow flow_of(const World&, const Group&, OpKind, double bytes);

// Index of the route in the group for an operation of this kind and size, -1: there is none.
int route_of(const World&, const Group&, OpKind, double bytes);

}  // namespace trainwire
