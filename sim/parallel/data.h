// What the files of the data axis share: the table of shardings, buckets, and flat tensors that replicas share out.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "sim/parallel/draft.h"

namespace trainwire {

// A row of the table: what the replicas share out between them instead of each keeping all of it.
struct ShardingRule {
  Sharding sharding;
  bool optimizer, gradients, parameters;
  bool by_unit;           // a bucket is a unit (the parameters of one layer), else as many gradients as fit the cap
  bool fp32_shards;       // parameter shards are in fp32 and their own master weights, gathers convert
  bool no_sync;           // unless the scenario says: gradients are reduced once a step
  bool keep_in_pipeline;  // unless the scenario says: where stages are, gathered parameters stay for the whole step
};
const ShardingRule& sharding_rule(Sharding);

// What the scenario chose, or the rule's default.
bool reduces_once(const Scenario&);
bool reshards_after_forward(const Scenario&);

struct Bucket {
  std::vector<TensorId> gradients;
  double bytes = 0;
  std::string name;
  int layer = -1;
  bool experts = false;  // of routed experts, which fewer ranks share
};

// Index of the last backward operation of the stage that writes each gradient.
std::map<TensorId, int> last_writers(const Draft&, int stage);
// In the reverse order of the parameters. By size: closed by the gradient that reaches the cap. By unit: one a layer.
// A parameter that several stages keep has a bucket of its own where `apart`.
std::vector<Bucket> buckets_by_size(const Draft&, int stage, double cap, bool apart);
std::vector<Bucket> buckets_by_unit(const Draft&, int stage);

// A flat tensor of `elements`; its shard on the data axis, in memory of its own or a view of the flat tensor.
TensorId add_flat(Draft&, const std::string& name, Category, DType, std::int64_t elements, std::int32_t flat);
TensorId add_shard(Draft&, const Scenario&, TensorId flat_tensor, const std::string& name, DType, bool view);

// A bucket as the replicas share it out. Tensors: flat ones and the rank's shards of them.
struct SharedBucket {
  int stage = 0;
  Bucket bucket;
  std::int32_t layout = -1;   // into Draft::flats
  std::int64_t elements = 0;  // padded to a multiple of the degree
  TensorId gradients = -1, gradient_shard = -1, parameters = -1, parameter_shard = -1;
  std::string name() const;
};
// Lays out a stage's buckets: gradients and parameters become parts of flat tensors.
std::vector<SharedBucket> share_buckets(Draft&, const Scenario&, int stage, const ShardingRule&);

// Operations that go into a list before an operation of it; what stands in `Draft::step` follows.
struct Insertion {
  int before = 0;
  DraftOp op;
};
void insert(Draft&, std::vector<DraftOp>& list, std::vector<Insertion> insertions);

// Reduce-scatters of the gradients, updates of the shards.
void reduce_to_shards(Draft&, const Scenario&, std::vector<SharedBucket>&, const ShardingRule&);
// All-gathers of the parameters before forward and backward use them.
void gather_parameters(Draft&, const Scenario&, const std::vector<SharedBucket>&);

}  // namespace trainwire
