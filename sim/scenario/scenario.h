// One run, fully specified: what to train, on what, split how, wired how. Immutable once loaded.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/model/model.h"
#include "sim/ops/framework.h"
#include "sim/plan/mesh.h"
#include "sim/scenario/turns.h"
#include "sim/topology/topology.h"
#include "sim/units/units.h"

namespace trainwire {

enum class Precision : std::uint8_t { fp32, tf32, fp16, bf16, fp8 };
enum class OptimizerKind : std::uint8_t { sgd, momentum, adam, adamw };
enum class Recompute : std::uint8_t { none, selective, full };
enum class Sharding : std::uint8_t { none, zero1, zero2, zero3, fsdp, hsdp };
enum class PipelineSchedule : std::uint8_t { gpipe, one_f_one_b, interleaved, zero_bubble, zero_bubble_v, as_given };
enum class ContextMethod : std::uint8_t { ring, all_gather, ulysses };

struct Training {
  std::int64_t sequence = 0;     // tokens; vision models: image side
  std::int64_t micro_batch = 1;  // sequences or images a rank handles at once
  std::int64_t global_batch = 1; // a step, over all replicas
  Precision precision = Precision::bf16;
  OptimizerKind optimizer = OptimizerKind::adamw;
  Recompute recompute = Recompute::none;
  int recompute_every = 1;       // of the blocks of a stage, the first of every so many
  std::int64_t recompute_blocks = 0;  // only so many blocks at the start of each stage; 0: all
  int recompute_segment = 1;          // full: so many blocks in a row keep one input
  DType grad_dtype = DType::fp32;
  Framework framework = Framework::none;  // whose kernels and host run the plan, for predictions
  double gradient_clip = 0;      // the largest global norm of the gradients; 0: not clipped
  double learning_rate = 1e-3;   // executed runs
  int steps = 5;                 // executed runs: measured steps after one warm-up
  std::int64_t seed = 1;         // parameters and data
};

struct Strategy {
  struct {
    int degree = 1;
    Sharding sharding = Sharding::none;
    Bytes bucket{25.0 * 1024 * 1024};
    bool overlap = true;
    int prefetch = 1;                   // units gathered ahead of the one in use (sharded parameters)
    // Unset: what frameworks do by default, see sharding_rule() in sim/parallel/data.h.
    std::optional<bool> reshard_after_forward;  // gathered parameters go after forward and come again for backward
    std::optional<bool> no_sync;                // gradients are reduced once a step, not after every micro-batch
    int shard = 0;                              // hsdp: ranks that share one copy; 0: those of a node
  } data;
  struct { int degree = 1; bool sequence_parallel = false; } tensor;
  struct { int degree = 1; PipelineSchedule schedule = PipelineSchedule::one_f_one_b; int interleave = 1;
           std::vector<std::int64_t> layers;  // blocks of each stage (interleaved: of each chunk, along the model); empty: evenly
           std::vector<Turns> turns; } pipeline;  // as_given: by stage
  struct { int degree = 1; ContextMethod method = ContextMethod::ring; } context;
  struct { int degree = 1; double imbalance = 0; std::int64_t seed = 1; } expert;  // imbalance: busiest over mean; 0: learnt
  std::array<Axis, ordered_axes> order{Axis::tensor, Axis::context, Axis::expert, Axis::data, Axis::pipeline};
};

// Each run of a simulation draws the speed of each device: log-normal, `spread` its standard deviation.
struct Jitter {
  double spread = 0;
  int runs = 1;
  std::uint64_t seed = 1;
};

PipelineShape pipeline_shape(const Strategy&, std::int64_t micro_batches);  // one stage is one chunk

struct Scenario {
  std::string name, question;
  std::filesystem::path file;
  std::vector<std::filesystem::path> inputs;  // every file that was read
  Model model;
  Topology topology;
  Training training;
  Strategy strategy;
  DeviceMesh mesh;
  std::vector<DeviceId> placement;  // rank -> device
  Jitter jitter;
  std::array<std::string, group_count> collectives;  // by Axis: the algorithm to use, empty: chosen by size and wiring
  int world_size() const { return mesh.size(); }
  std::int64_t micro_batches() const {  // a replica runs in a step
    const std::int64_t replicas = mesh.degree(Axis::data) * mesh.degree(Axis::replica) * mesh.degree(Axis::expert);
    return training.global_batch / (training.micro_batch * replicas);
  }
  PipelineShape pipeline_shape() const { return trainwire::pipeline_shape(strategy, micro_batches()); }
};

// Throws ConfigError with every problem found. `overrides` as in --set key=value.
Scenario load_scenario(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});
// The same of a scenario that was read already; its relative paths start from where `file` would stand.
Scenario load_scenario(Value root, const std::filesystem::path& file, const std::vector<std::string>& overrides = {});

}  // namespace trainwire
