// Collective algorithms, each in two forms: a list of steps (what the executor moves and the step-by-step simulation
// prices) and a flow (what the simulator runs: one fluid transfer over all the links it loads).
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sim/ops/ops.h"
#include "sim/plan/mesh.h"
#include "sim/topology/topology.h"

namespace trainwire {

// One message of one round: `chunk` of `chunks` equal parts of the buffer goes from one member to another, which adds
// it to its own (reduce) or overwrites. Members are positions 0…n-1 in the group. Rounds run one after the other per
// member; messages of a round are independent.
struct Step {
  std::int32_t round = 0, from = 0, to = 0, chunk = 0;
  bool reduce = false;
};

struct StepList {
  int chunks = 1;   // the buffer is cut into this many parts, sizes differing by at most one element (chunk_range)
  int rounds = 0;
  std::vector<Step> steps;  // ordered by round
};

// First element and count of a chunk when `elements` are cut into `chunks`; the first (elements % chunks) are one
// longer.
struct ChunkRange { std::int64_t first, count; };
ChunkRange chunk_range(std::int64_t elements, int chunks, int chunk);

// A route with multiplicities: how often a byte of progress crosses the link.
struct WeightedLink { LinkId link; double weight; };

struct Flow {
  Seconds latency;             // before the transfer starts
  double bytes = 0;            // size of the transfer in units of progress
  std::vector<WeightedLink> links;  // by number of the link, each once; weights are whole numbers
  std::string algorithm;       // "ring", for the report
  std::string protocol = {};   // of NCCL: "LL", "LL128", "Simple"; empty: none
};
// Of a flow that has its links for itself.
Seconds alone(const Flow&, const Topology&);

// A row of the table. `steps` for n members; `applies`: which operation kinds.
struct CollectiveAlgorithm {
  const char* name;
  bool (*applies)(OpKind kind);
  StepList (*steps)(OpKind kind, int members);
  // `devices` in group order, `bytes` of the whole buffer (all_gather, reduce_scatter: of the large one).
  Flow (*flow)(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology&);
  // Whether it can be used among these; nullptr: always.
  bool (*fits)(std::span<const DeviceId> devices, const Topology&) = nullptr;
};
const std::vector<CollectiveAlgorithm>& algorithms();

// The algorithm used for this operation: `wanted` where it applies; else direct for broadcast, all-to-all and point to
// point, ring for the others, and for an all-reduce of GPUs whichever of ring, tree and in-switch reduction takes least
// time alone, as NCCL decides.
const CollectiveAlgorithm& choose_algorithm(OpKind kind, std::span<const DeviceId> devices, double bytes,
                                            const Topology&, const std::string& wanted = "");

// The same with a memory: groups that lie alike in their hosts and have the same sizes get the first one's answer, as
// NCCL decides from the kind of wiring and not from the state of each cable.
class AlgorithmChoice {
 public:
  const CollectiveAlgorithm& operator()(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology&,
                                        const std::string& wanted);

 private:
  std::map<std::tuple<OpKind, double, std::uint64_t, std::string>, const CollectiveAlgorithm*> known_;
};

// nccl-tests' doc/PERFORMANCE.md: bus bandwidth = algorithm bandwidth × this factor.
double bus_factor(OpKind kind, int members);

}  // namespace trainwire
