// Plan + Topology + prices -> what is simulated: ranks, groups and links, one of each class, with their multiplicities.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/engine/fluid.h"
#include "sim/engine/fold.h"
#include "sim/engine/groups.h"
#include "sim/engine/program.h"

namespace trainwire {

// One rank for all of its class. Indices are those of the classes.
struct SimRank {
  Rank rank = 0;  // the representative
  std::int32_t program = 0;
  const std::vector<double>* seconds = nullptr;  // by Op::prototype: computing alone on this device
  std::int32_t domain = 0;
  double in_domain = 1;                 // how many ranks of this class a domain has
  std::vector<std::int32_t> groups;     // by endpoint of the program
  std::vector<std::int32_t> transfers;  // by communication of the program: into SimGroup::transfers
};

// When the host of a rank has launched each operation of a program, if it never waits; and after which it waits.
struct SimHost {
  std::vector<double> launched_s;  // by operation; empty: hosts take no time
  std::vector<bool> waits;
};

struct SimRoute {
  Route all;      // every link of the topology that is loaded, for the account
  Route binding;  // those that can hold it up, for the solver
};

struct SimTransfer {
  int route = -1;  // into SimGroup::routes, -1: no link
  double latency_s = 0, bytes = 0;
};

struct SimGroup {
  Axis axis = Axis::tensor;
  bool pair = false;
  std::vector<std::int32_t> members;  // classes of ranks that have to be there; a pair: sender, receiver
  std::vector<SimRoute> routes;
  std::vector<SimTransfer> transfers;
  std::vector<std::pair<std::int32_t, double>> domains;  // which, and how many communications it adds to them
  int streams = 1;                                       // that can have a transfer under way at once
};

struct SimDomain {
  const DeviceSpec* spec = nullptr;
  bool contended = false;
};

struct SimLink {
  LinkId link = 0;  // the representative
  double capacity = 0;
  std::int32_t copies = 1;
  bool used = false;
};

struct Network {
  std::vector<CompiledProgram> programs;
  std::vector<SimHost> hosts;               // by program
  std::vector<std::vector<double>> prices;  // rows of SimRank::seconds
  std::vector<SimRank> ranks;
  std::vector<SimGroup> groups;
  std::vector<SimDomain> domains;
  std::vector<SimLink> links;
  std::vector<std::int32_t> class_of_rank;
};

Network compile(const World&, bool fold);

}  // namespace trainwire
