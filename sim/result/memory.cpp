// Memory of a stage: what stays for the whole step, and what lives from its first to its last use.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "sim/result/report.h"

namespace trainwire {
namespace {

// One allocation: a buffer that is no view of another, with the uses of its views counted as its own.
struct Allocation {
  Category category = Category::activation;
  double bytes = 0;
  bool persistent = false;
  std::optional<std::size_t> first, last;  // operations that use it
};

struct Allocations {
  std::vector<Allocation> all;
  std::vector<std::size_t> of_buffer;  // BufferId -> index into all
};

TensorId root_of(const Program& program, TensorId tensor) {
  while (program.tensors[static_cast<std::size_t>(tensor)].view_of >= 0)
    tensor = program.tensors[static_cast<std::size_t>(tensor)].view_of;
  return tensor;
}

// A parameter that operations make before they use it is gathered and dropped again; every other one stays, like
// optimizer states and the gradients that accumulate over the step.
bool stays(const Allocation& allocation, std::int32_t micro_batch, bool written_first) {
  switch (allocation.category) {
    case Category::parameter:
      return !written_first;
    case Category::optimizer:
      return true;
    case Category::gradient:
      return micro_batch < 0;
    default:
      return false;
  }
}

Allocations allocations_of(const Program& program) {
  Allocations result;
  std::unordered_map<std::int64_t, std::size_t> known;  // by tensor and micro-batch
  std::vector<std::int32_t> micro_batch;
  for (const auto& buffer : program.buffers) {
    const TensorId root = root_of(program, buffer.tensor);
    const std::int64_t key = (static_cast<std::int64_t>(root) << 32) + buffer.micro_batch;
    const auto [place, added] = known.emplace(key, result.all.size());
    if (added) {
      const Tensor& tensor = program.tensors[static_cast<std::size_t>(root)];
      result.all.push_back({tensor.category, tensor.bytes(), false, {}, {}});
      micro_batch.push_back(buffer.micro_batch);
    }
    result.of_buffer.push_back(place->second);
  }
  std::vector<char> written_first(result.all.size(), 0);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    const auto use = [&](BufferId id, bool write) {
      const std::size_t index = result.of_buffer[static_cast<std::size_t>(id)];
      Allocation& allocation = result.all[index];
      if (!allocation.first) allocation.first = i, written_first[index] = write;
      allocation.last = i;
    };
    for (const BufferId id : program.inputs(op)) use(id, false);
    for (const BufferId id : program.outputs(op)) use(id, op.role != Role::update);
  }
  for (std::size_t i = 0; i < result.all.size(); ++i)
    result.all[i].persistent = stays(result.all[i], micro_batch[i], written_first[i] != 0);
  return result;
}

double& part(StageMemory& memory, Category category) {
  switch (category) {
    case Category::parameter:
      return memory.parameters;
    case Category::gradient:
      return memory.gradients;
    case Category::optimizer:
      return memory.optimizer;
    case Category::workspace:
      return memory.workspace;
    default:
      return memory.activations;
  }
}

// The parts at the moment of the peak, in program order: they add up to `peak`.
StageMemory memory_of(const Program& program) {
  const Allocations allocations = allocations_of(program);
  std::vector<double> change(program.ops.size() + 1, 0.0);
  StageMemory result;
  result.stage = program.stage;
  double live = 0;
  for (const auto& allocation : allocations.all) {
    if (allocation.persistent) live += allocation.bytes;
    if (allocation.persistent || !allocation.first) continue;
    change[*allocation.first] += allocation.bytes;
    change[*allocation.last + 1] -= allocation.bytes;
  }
  result.peak = live;
  std::size_t moment = 0;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    live += change[i];
    if (live > result.peak) result.peak = live, moment = i;
  }
  for (const auto& allocation : allocations.all)
    if (allocation.persistent || (allocation.first && *allocation.first <= moment && moment <= *allocation.last))
      part(result, allocation.category) += allocation.bytes;
  result.peak = result.parameters + result.gradients + result.optimizer + result.activations + result.workspace;
  return result;
}

// Keeps the highest point of each of `bins` equal parts of the step, and the ends: a curve for a picture.
void thin_out(std::vector<MemoryPoint>& points, double step_s) {
  constexpr std::size_t bins = 1000;
  if (points.size() <= 2 * bins) return;
  std::vector<MemoryPoint> kept{points.front()};
  const auto bin = [&](const MemoryPoint& p) { return static_cast<std::int64_t>(p.time_s / step_s * bins); };
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    if (bin(points[i]) != bin(kept.back()) || kept.size() == 1)
      kept.push_back(points[i]);
    else if (points[i].bytes > kept.back().bytes)
      kept.back() = points[i];
  }
  kept.push_back(points.back());
  points = std::move(kept);
}

// Along the timeline: an allocation lives from the start of the first operation that uses it to the end of the last.
std::vector<MemoryPoint> curve_of(const Program& program, const std::vector<Span>& spans, double step_s) {
  const Allocations allocations = allocations_of(program);
  std::vector<Span> lives(allocations.all.size(), Span{step_s, 0});
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto use = [&](BufferId id) {
      Span& life = lives[allocations.of_buffer[static_cast<std::size_t>(id)]];
      life.start_s = std::min(life.start_s, spans[i].start_s);
      life.end_s = std::max(life.end_s, spans[i].end_s);
    };
    for (const BufferId id : program.inputs(program.ops[i])) use(id);
    for (const BufferId id : program.outputs(program.ops[i])) use(id);
  }
  double persistent = 0;
  std::vector<std::pair<double, double>> changes;  // time, bytes
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const Allocation& allocation = allocations.all[i];
    if (allocation.persistent) {
      persistent += allocation.bytes;
    } else if (allocation.first) {
      changes.emplace_back(lives[i].start_s, allocation.bytes);
      changes.emplace_back(lives[i].end_s, -allocation.bytes);
    }
  }
  std::sort(changes.begin(), changes.end());  // at equal times, what ends goes first
  std::vector<MemoryPoint> points{{program.stage, 0, persistent}};
  double live = persistent;
  for (const auto& [time, bytes] : changes) {
    live += bytes;
    if (points.back().time_s == time)
      points.back().bytes = live;
    else
      points.push_back({program.stage, time, live});
  }
  points.push_back({program.stage, step_s, live});
  thin_out(points, step_s);
  return points;
}

}  // namespace

std::vector<StageMemory> memory_by_stage(const Plan& plan) {
  std::map<int, StageMemory> stages;  // the largest program of a stage counts
  for (const auto& program : plan.programs) {
    const StageMemory memory = memory_of(program);
    const auto [place, added] = stages.emplace(program.stage, memory);
    if (!added && memory.peak > place->second.peak) place->second = memory;
  }
  std::vector<StageMemory> result;
  for (const auto& [stage, memory] : stages) result.push_back(memory);
  return result;
}

std::vector<MemoryPoint> memory_curve(const Plan& plan, const Timeline& timeline) {
  std::map<int, std::vector<MemoryPoint>> stages;  // of the first rank of each
  for (const auto& rank : timeline.ranks) {
    const Program& program = plan.program(rank.rank);
    if (!stages.contains(program.stage)) stages[program.stage] = curve_of(program, rank.spans, timeline.step_time_s);
  }
  std::vector<MemoryPoint> result;
  for (const auto& [stage, points] : stages) result.insert(result.end(), points.begin(), points.end());
  return result;
}

}  // namespace trainwire
