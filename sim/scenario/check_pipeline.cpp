// What a pipeline asks of the model and the batch: pieces that have blocks, and a schedule that can run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "sim/scenario/pieces.h"
#include "sim/scenario/read.h"

namespace trainwire {
namespace {

const std::string key = "strategy.pipeline";

std::string list_text(const std::vector<std::int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

// As `wanted`, with blocks added to the smallest pieces or taken from the largest until the sum is right.
std::vector<std::int64_t> with_sum(std::vector<std::int64_t> wanted, std::int64_t blocks) {
  std::int64_t missing = blocks - std::accumulate(wanted.begin(), wanted.end(), std::int64_t{0});
  for (; missing > 0; --missing) ++*std::min_element(wanted.begin(), wanted.end());
  for (; missing < 0; ++missing) --*std::max_element(wanted.begin(), wanted.end());
  return wanted;
}

void check_layers(const Scenario& s, std::int64_t blocks, Checks& checks) {
  const auto& layers = s.strategy.pipeline.layers;
  if (layers.empty()) return;
  const PipelineShape shape = pipeline_shape(s.strategy, 1);
  const auto pieces = static_cast<std::size_t>(shape.pieces());
  const std::int64_t sum = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  const std::vector<std::int64_t> even = even_blocks(shape, blocks);
  if (layers.size() != pieces) {
    checks.fail(key + ".layers", list_text(layers),
                fmt::format("has {} numbers for {} stages x {} chunks = {} pieces of the model", layers.size(),
                            shape.stages, shape.chunks, pieces),
                pieces > 64 ? "" : fmt::format("Try {}", list_text(even)));
  } else if (sum != blocks) {
    checks.fail(key + ".layers", list_text(layers),
                fmt::format("adds up to {}, but model {} has {} blocks", sum, s.model.name, blocks),
                sum > 100'000 ? "" : fmt::format("Try {}", list_text(with_sum(layers, blocks))));
  } else if (pieces > 2 && std::find(layers.begin() + 1, layers.end() - 1, 0) != layers.end() - 1) {
    checks.fail(key + ".layers", list_text(layers), "leaves a piece between the first and the last without blocks",
                fmt::format("Try {}", list_text(even)));
  }
}

void check_pieces(const Scenario& s, std::int64_t blocks, Checks& checks) {
  const auto& p = s.strategy.pipeline;
  const std::int64_t most = std::max<std::int64_t>(1, blocks);
  if (p.degree > most) {
    checks.fail(key, std::to_string(p.degree),
                fmt::format("is more stages than model {} has blocks ({})", s.model.name, blocks),
                fmt::format("Try {} or fewer", most));
  } else if (p.schedule == PipelineSchedule::zero_bubble_v && p.degree > 1 && 2 * p.degree > most + 2) {
    checks.fail(
        key, std::to_string(p.degree),
        fmt::format("means {} stages x 2 chunks of a V, but model {} has {} blocks", p.degree, s.model.name, blocks),
        fmt::format("Try {} or fewer", (most + 2) / 2));
  } else if (p.degree > 1 && p.interleave > 1 && static_cast<std::int64_t>(p.degree) * p.interleave > most + 2) {
    // The first and the last piece may have the embedding and the head alone.
    checks.fail(
        key + ".interleave", std::to_string(p.interleave),
        fmt::format("means {} stages x {} chunks, but model {} has {} blocks", p.degree, p.interleave, s.model.name,
                    blocks),
        (most + 2) / p.degree > 1 ? fmt::format("Try {} or fewer", (most + 2) / p.degree) : "Try schedule: 1f1b");
  }
}

void check_interleave(const Scenario& s, Checks& checks) {
  const auto& p = s.strategy.pipeline;
  using Schedule = PipelineSchedule;
  const std::string value = std::to_string(p.interleave);
  if (p.schedule == Schedule::interleaved && p.interleave < 2 && p.degree > 1) {
    checks.fail(key + ".schedule", "interleaved", "needs at least 2 chunks a stage: with 1 it is 1f1b",
                "Try interleave: 2");
  } else if (p.schedule == Schedule::zero_bubble_v && p.interleave > 2) {
    checks.fail(key + ".interleave", value, "is the number of chunks a stage, and a V has 2", "Leave it out");
  } else if (p.interleave > 1 && (p.schedule == Schedule::gpipe || p.schedule == Schedule::one_f_one_b ||
                                  p.schedule == Schedule::zero_bubble)) {
    checks.fail(key + ".interleave", value, "is the number of chunks a stage, and this schedule runs one",
                "Try schedule: interleaved");
  }
}

// Megatron-LM's order goes by groups of as many micro-batches as there are stages.
void check_groups(const Scenario& s, Checks& checks) {
  const auto& p = s.strategy.pipeline;
  const Training& t = s.training;
  const std::int64_t unit = t.micro_batch * s.strategy.data.degree * s.strategy.expert.degree;
  const std::int64_t micro_batches = t.global_batch / unit;
  if (p.schedule != PipelineSchedule::interleaved || p.degree == 1 || t.global_batch % unit != 0) return;
  if (micro_batches % p.degree == 0) return;
  const std::int64_t below = micro_batches / p.degree * p.degree * unit, step = p.degree * unit;
  checks.fail("training.global_batch", std::to_string(t.global_batch),
              fmt::format("means {} micro-batches a replica, which the interleaved schedule takes in groups of the {} "
                          "stages",
                          micro_batches, p.degree),
              below > 0 ? fmt::format("Try {} or {}", below, below + step) : fmt::format("Try {}", step));
}

void check_given(const Scenario& s, Checks& checks) {
  const auto& p = s.strategy.pipeline;
  if (p.schedule != PipelineSchedule::as_given) {
    if (!p.turns.empty())
      checks.fail(key + ".turns", "", "is read with schedule: explicit alone", "Add schedule: explicit");
    return;
  }
  const Training& t = s.training;
  const std::int64_t unit = t.micro_batch * s.strategy.data.degree * s.strategy.expert.degree;
  if (t.global_batch % unit != 0) return;
  const PipelineShape shape = pipeline_shape(s.strategy, t.global_batch / unit);
  std::string problem = check_complete(p.turns, shape);
  if (problem.empty()) {
    problem = check_progress(p.turns, shape);
    if (!problem.empty()) problem = "cannot finish: " + problem;
  }
  if (!problem.empty()) checks.fail(key + ".turns", "", problem, "Example for 1 micro-batch: [F0 B0, F0 B0]");
}

}  // namespace

void check_pipeline(const Scenario& s, bool degrees_known, Checks& checks) {
  const std::int64_t blocks = std::count_if(s.model.layers.begin(), s.model.layers.end(),
                                            [](const Layer& layer) { return layer.kind == Layer::Kind::block; });
  check_pieces(s, blocks, checks);
  check_interleave(s, checks);
  if (!degrees_known) return;
  check_layers(s, blocks, checks);
  check_groups(s, checks);
  check_given(s, checks);
}

}  // namespace trainwire
