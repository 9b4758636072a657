// Collective algorithms, each in two forms: a list of steps (what the executor moves and the step-by-step simulation
// prices) and a flow (what the simulator runs: one fluid transfer over all the links it loads).
#pragma once
#include <cstdint>
#include <span>
#include <string>
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
};

// A row of the table. `steps` for n members; `applies`: which operation kinds.
struct CollectiveAlgorithm {
  const char* name;
  bool (*applies)(OpKind kind);
  StepList (*steps)(OpKind kind, int members);
  // `devices` in group order, `bytes` of the whole buffer (all_gather, reduce_scatter: of the large one).
  Flow (*flow)(OpKind kind, std::span<const DeviceId> devices, double bytes, const Topology&);
};
const std::vector<CollectiveAlgorithm>& algorithms();

// The algorithm used for this operation; today: ring for reductions and gathers, direct for the others.
const CollectiveAlgorithm& choose_algorithm(OpKind kind, std::span<const DeviceId> devices, double bytes,
                                            const Topology&);

// nccl-tests' doc/PERFORMANCE.md: bus bandwidth = algorithm bandwidth × this factor.
double bus_factor(OpKind kind, int members);

}  // namespace trainwire
