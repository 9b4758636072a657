// Combinations of strategies on eight ranks, generated from one table: a new strategy is a row of `choices`, and is
// then simulated (tests/engine) and trained with (tests/cpu/ranks) beside every other.
#pragma once
#include <random>
#include <string>
#include <vector>

#include "tests/scenarios.h"

namespace trainwire::testing {

// What can be chosen independently of the others. The first four are axes of the mesh.
enum class Dimension { data, tensor, pipeline, context, recompute };
constexpr int dimension_count = 5;
constexpr int axis_dimensions = 4;

struct Choice {
  Dimension dimension;
  const char* name;
  void (*apply)(Scenario&);  // the degrees are set already
};

inline void turns_in_pairs(Scenario& s) {  // two micro-batches at a time, the first one's weight gradients at the end
  s.strategy.pipeline.schedule = PipelineSchedule::as_given;
  std::string text, problem;
  for (int m = 0; m < static_cast<int>(s.micro_batches()); m += 2)
    for (const char* kind : {"F", "B"})
      for (int k = m; k < std::min(m + 2, static_cast<int>(s.micro_batches())); ++k)
        text += kind + std::to_string(k) + " ";
  const auto stages = static_cast<std::size_t>(s.strategy.pipeline.degree);
  s.strategy.pipeline.turns.assign(stages, read_turns(text + "W0", problem));
}

template <Sharding sharding>
void shard(Scenario& s) {
  s.strategy.data.sharding = sharding;
  s.strategy.data.bucket = Bytes(16384);
}
inline void shard_in_halves(Scenario& s) {  // half of the replicas share one copy
  shard<Sharding::hsdp>(s);
  const int data = s.strategy.data.degree, groups = data > 1 ? 2 : 1;
  s.strategy.data.shard = data / groups;
  std::array<int, axis_count> degrees{};
  for (const Axis axis : s.mesh.order()) degrees[static_cast<std::size_t>(axis)] = s.mesh.degree(axis);
  degrees[static_cast<std::size_t>(Axis::data)] = data / groups;
  degrees[static_cast<std::size_t>(Axis::replica)] = groups;
  s.mesh = DeviceMesh(degrees, s.strategy.order);
}

inline const std::vector<Choice>& choices() {
  using P = PipelineSchedule;
  static const std::vector<Choice> table{
      {Dimension::data, "ddp in 4 KiB buckets", [](Scenario& s) { s.strategy.data.bucket = Bytes(4096); }},
      {Dimension::data, "ddp without overlap", [](Scenario& s) { s.strategy.data.overlap = false; }},
      {Dimension::data, "zero1", shard<Sharding::zero1>},
      {Dimension::data, "zero2", shard<Sharding::zero2>},
      {Dimension::data, "zero3", shard<Sharding::zero3>},
      {Dimension::data, "fsdp", shard<Sharding::fsdp>},
      {Dimension::data, "hsdp", shard_in_halves},
      {Dimension::tensor, "megatron", [](Scenario&) {}},
      {Dimension::tensor, "megatron with sequence parallelism",
       [](Scenario& s) { s.strategy.tensor.sequence_parallel = true; }},
      {Dimension::context, "ring", [](Scenario& s) { s.strategy.context.method = ContextMethod::ring; }},
      {Dimension::context, "all-gather", [](Scenario& s) { s.strategy.context.method = ContextMethod::all_gather; }},
      {Dimension::context, "ulysses", [](Scenario& s) { s.strategy.context.method = ContextMethod::ulysses; }},
      {Dimension::pipeline, "1f1b", [](Scenario& s) { s.strategy.pipeline.schedule = P::one_f_one_b; }},
      {Dimension::pipeline, "gpipe", [](Scenario& s) { s.strategy.pipeline.schedule = P::gpipe; }},
      {Dimension::pipeline, "interleaved",
       [](Scenario& s) {
         s.strategy.pipeline.schedule = P::interleaved;
         s.strategy.pipeline.interleave = 2;
       }},
      {Dimension::pipeline, "zero-bubble", [](Scenario& s) { s.strategy.pipeline.schedule = P::zero_bubble; }},
      {Dimension::pipeline, "zero-bubble-v", [](Scenario& s) { s.strategy.pipeline.schedule = P::zero_bubble_v; }},
      {Dimension::pipeline, "turns in pairs", turns_in_pairs},
      {Dimension::recompute, "selective", [](Scenario& s) { s.training.recompute = Recompute::selective; }},
      {Dimension::recompute, "full", [](Scenario& s) { s.training.recompute = Recompute::full; }},
      {Dimension::recompute, "full, two blocks a segment",
       [](Scenario& s) {
         s.training.recompute = Recompute::full;
         s.training.recompute_segment = 2;
       }},
      {Dimension::recompute, "full of every second block",
       [](Scenario& s) {
         s.training.recompute = Recompute::full;
         s.training.recompute_every = 2;
       }},
  };
  return table;
}

struct Combination {
  Degrees degrees;
  std::vector<const Choice*> chosen;

  std::string name() const {
    std::string text = "data " + std::to_string(degrees.data) + " x tensor " + std::to_string(degrees.tensor) +
                       " x pipeline " + std::to_string(degrees.pipeline) + " x context " +
                       std::to_string(degrees.context) + " x expert " + std::to_string(degrees.expert);
    for (const Choice* c : chosen) text += ", " + std::string(c->name);
    return text;
  }
  Scenario scenario(const std::string& model, std::int64_t global_batch) const {
    Scenario s = make_scenario(model, degrees, global_batch);
    for (const Choice* c : chosen) c->apply(s);
    return s;
  }
};

inline int& degree_of(Degrees& d, Dimension dimension) {
  switch (dimension) {
    case Dimension::data:
      return d.data;
    case Dimension::tensor:
      return d.tensor;
    case Dimension::context:
      return d.context;
    default:
      return d.pipeline;
  }
}
inline bool is_axis(const Choice& c) { return static_cast<int>(c.dimension) < axis_dimensions; }

// Pairs that scenarios refuse (sim/scenario/check_shares.cpp): the models here have four KV heads.
inline bool sensible(const Combination& c) {
  const bool shared = c.degrees.context > 1;
  Scenario s;
  for (const Choice* choice : c.chosen) choice->apply(s);
  if (shared && s.strategy.context.method == ContextMethod::ring && s.training.recompute == Recompute::selective)
    return false;
  return !shared || s.strategy.context.method != ContextMethod::ulysses ||
         4 % (c.degrees.tensor * c.degrees.context) == 0;
}

// 2 x 2 x 2: the axes that are chosen, then data, tensor, pipeline.
inline Degrees cube(const Choice& a, const Choice& b) {
  Degrees d{1, 1, 1};
  int axes = 0;
  for (const Choice* c : {&a, &b})
    if (is_axis(*c)) degree_of(d, c->dimension) = 2, ++axes;
  for (const Dimension more : {Dimension::data, Dimension::tensor, Dimension::pipeline})
    if (axes < 3 && degree_of(d, more) == 1) degree_of(d, more) = 2, ++axes;
  return d;
}

// Every two choices of different dimensions on 2 x 2 x 2 ranks; two of axes also on 4 x 2.
inline std::vector<Combination> all_pairs() {
  std::vector<Combination> pairs;
  const auto& table = choices();
  for (std::size_t a = 0; a < table.size(); ++a)
    for (std::size_t b = a + 1; b < table.size(); ++b) {
      if (table[a].dimension == table[b].dimension) continue;
      pairs.push_back({cube(table[a], table[b]), {&table[a], &table[b]}});
      if (!is_axis(table[a]) || !is_axis(table[b])) continue;
      Combination oblong{{1, 1, 1}, {&table[a], &table[b]}};
      degree_of(oblong.degrees, table[a].dimension) = 4;
      degree_of(oblong.degrees, table[b].dimension) = 2;
      pairs.push_back(oblong);
    }
  std::erase_if(pairs, [](const Combination& c) { return !sensible(c); });
  return pairs;
}

// Expert parallelism beside every choice: 2 x 2 x 2 with the axis that is chosen, then data, tensor, pipeline.
inline std::vector<Combination> pairs_with_experts() {
  std::vector<Combination> pairs;
  for (const Choice& choice : choices()) {
    Combination c{{1, 1, 1, 1, 2}, {&choice}};
    int axes = 1;
    if (is_axis(choice)) degree_of(c.degrees, choice.dimension) = 2, ++axes;
    for (const Dimension more : {Dimension::data, Dimension::tensor, Dimension::pipeline})
      if (axes < 3 && degree_of(c.degrees, more) == 1) degree_of(c.degrees, more) = 2, ++axes;
    if (sensible(c)) pairs.push_back(c);
  }
  return pairs;
}

// One choice of every dimension, on a random mesh of eight ranks with at least two stages.
inline std::vector<Combination> random_combinations(unsigned seed, int count) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  const std::vector<Degrees> meshes{{2, 2, 2}, {4, 1, 2},    {1, 4, 2},    {2, 1, 4},    {1, 2, 4},
                                    {1, 1, 8}, {1, 2, 2, 2}, {2, 1, 2, 2}, {1, 1, 2, 4}, {1, 1, 4, 2}};
  std::vector<Combination> result;
  while (static_cast<int>(result.size()) < count) {
    Combination c{meshes[below(meshes.size())], {}};
    for (int d = 0; d < dimension_count; ++d) {
      std::vector<const Choice*> possible;
      for (const Choice& choice : choices())
        if (static_cast<int>(choice.dimension) == d) possible.push_back(&choice);
      c.chosen.push_back(possible[below(possible.size())]);
    }
    if (sensible(c)) result.push_back(c);
  }
  return result;
}

// 16 blocks: two for each of eight stages, or one for each of two chunks. Batch: eight micro-batches, or a multiple.
inline std::string deep_gpt() {
  return "{family: transformer, layers: 16, hidden: 16, heads: 4, vocab: 64, positions: learned, max_sequence: 16, "
         "norm: layer_norm, activation: gelu, biases: true, tied: true, source: test}";
}
inline std::string moe_of_four_blocks() {
  return "{family: transformer, layers: 4, hidden: 32, heads: 8, kv_heads: 4, vocab: 64, positions: rotary, "
         "norm: rms_norm, activation: swiglu, experts: {count: 4, per_token: 2, hidden: 24}, source: test}";
}
constexpr unsigned combinations_seed = 20260401;
constexpr int random_count = 20;

}  // namespace trainwire::testing
