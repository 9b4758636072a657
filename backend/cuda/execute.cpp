#include "backend/cuda/execute.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <stdexcept>

#include "backend/cuda/load.h"
#include "backend/cuda/run.h"
#include "sim/config/problems.h"

namespace trainwire::cuda {
namespace {

struct KeyAndId {
  GroupKey key;
  UniqueId id;
};

// The first member of each group makes its identity; everybody learns all of them.
std::map<GroupKey, UniqueId> share_ids(const Ranks& ranks, Device& device, const Plan& plan) {
  std::vector<std::byte> mine;
  for (const GroupKey& key : groups_of(plan, ranks.rank())) {
    if (key.first != ranks.rank()) continue;
    const KeyAndId one{key, device.unique_id()};
    const auto* bytes = reinterpret_cast<const std::byte*>(&one);
    mine.insert(mine.end(), bytes, bytes + sizeof one);
  }
  std::map<GroupKey, UniqueId> ids;
  const std::vector<std::byte> all = ranks.all_gather(mine);
  for (std::size_t at = 0; at + sizeof(KeyAndId) <= all.size(); at += sizeof(KeyAndId)) {
    KeyAndId one;
    std::memcpy(&one, all.data() + at, sizeof one);
    ids[one.key] = one.id;
  }
  return ids;
}

// NCCL refuses two ranks on one GPU with a message that few understand.
void refuse_shared_devices(const Ranks& ranks, const DeviceFacts& facts, const std::string& host) {
  std::string mine = host + " " + facts.bus;
  mine.resize(320);
  std::vector<std::byte> bytes(mine.size());
  std::memcpy(bytes.data(), mine.data(), mine.size());
  const std::vector<std::byte> all = ranks.all_gather(bytes);
  std::map<std::string, Rank> owner;
  for (Rank r = 0; r < ranks.size(); ++r) {
    const auto* text = reinterpret_cast<const char*>(all.data()) + static_cast<std::size_t>(r) * 320;
    const auto [other, fresh] = owner.emplace(std::string(text, strnlen(text, 320)), r);
    if (!fresh)
      throw std::runtime_error(
          fmt::format("ranks {} and {} would share one GPU ({}), which NCCL does not allow. Start as many ranks a host "
                      "as it has GPUs (mpirun --map-by ppr:N:node, srun --ntasks-per-node=N), or use fewer ranks",
                      other->second, r, other->first));
  }
}

// Polls until the step has ended. Ends all ranks with what this one waits for when NCCL reports an error, or when
// nothing has ended for too long.
void wait_for_step(DeviceRank& run, Device& device, Rank rank) {
  std::uint64_t progress = 0, before = 0;
  std::int64_t last = now_ns();
  for (std::int64_t polls = 0; !run.finished(progress); ++polls) {
    if (progress != before) {
      before = progress;
      last = now_ns();
    }
    std::string problem = polls % 64 == 0 ? device.communication_error() : std::string();
    if (problem.empty() && static_cast<double>(now_ns() - last) * 1e-9 > timeout_s())
      problem = fmt::format("nothing has ended for {:g} s", timeout_s());
    if (!problem.empty()) {
      device.abort_communicators();
      throw std::runtime_error(fmt::format("rank {}: {}. Waiting at {}", rank, problem, run.whereabouts()));
    }
    if (polls > 1000) sched_yield();
  }
}

RunRecord run_steps(DeviceRank& run, Device& device, const Ranks& ranks, const ExecuteOptions& options) {
  RunRecord record{"cuda", {}, {}};
  for (int step = 0; step < options.warmup + options.steps; ++step) {
    run.load_inputs(step);
    ranks.barrier(fmt::format("the start of step {}", step + 1));
    const std::int64_t started = now_ns();
    run.enqueue(step + 1, true);
    wait_for_step(run, device, ranks.rank());
    record.losses.push_back(run.loss());
    if (step >= options.warmup) record.measured.push_back({run.spans(started), started});
  }
  return record;
}

// The median time of a few more steps, without events around every operation: what measuring costs.
double unmeasured_seconds(DeviceRank& run, Device& device, const Ranks& ranks, int first_step) {
  std::vector<double> seconds;
  for (int step = 0; step < 3; ++step) {
    ranks.barrier("the start of a step without measuring");
    run.enqueue(first_step + step, false);
    wait_for_step(run, device, ranks.rank());
    seconds.push_back(static_cast<double>(run.step_ns()) * 1e-9);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[1];
}

void note_memory(Result& result, const DeviceRank& run, const DeviceFacts& before, const DeviceFacts& after) {
  result.timeline.notes.push_back(fmt::format(
      "GPU memory of rank 0: {:.3f} GiB planned (buffers {:.3f}, scratch {:.3f}); {:.3f} GiB taken in all, with the "
      "context and NCCL",
      static_cast<double>(run.memory().total()) / (1 << 30), static_cast<double>(run.memory().buffers) / (1 << 30),
      static_cast<double>(run.memory().scratch) / (1 << 30), (before.free_bytes - after.free_bytes) / (1 << 30)));
}

}  // namespace

void check_executable(const Scenario& scenario) {
  Problems problems;
  if (scenario.training.precision == Precision::fp8)
    problems.add({Where{scenario.file.string(), 0}, "training.precision", "fp8",
                  "the CUDA backend has no fp8 products yet", "Use --set training.precision=bf16"});
  if (scenario.training.precision == Precision::fp16 && scenario.training.grad_dtype == DType::bf16)
    problems.add({Where{scenario.file.string(), 0}, "training.grad_dtype", "bf16", "products of fp16 cannot give bf16",
                  "Use --set training.grad_dtype=fp32"});
  if (scenario.training.precision == Precision::bf16 && scenario.training.grad_dtype == DType::fp16)
    problems.add({Where{scenario.file.string(), 0}, "training.grad_dtype", "fp16", "products of bf16 cannot give fp16",
                  "Use --set training.grad_dtype=fp32"});
  const bool full = scenario.training.precision == Precision::fp32 || scenario.training.precision == Precision::tf32;
  if (full && scenario.training.grad_dtype != DType::fp32)
    problems.add({Where{scenario.file.string(), 0}, "training.grad_dtype",
                  std::string(to_text(scenario.training.grad_dtype)), "products of fp32 give fp32",
                  "Use --set training.grad_dtype=fp32"});
  for (const std::string& text : missing_parts(scenario))
    problems.add({Where{scenario.file.string(), 0}, "", "", text, "Execute it with --backend cpu"});
  problems.throw_if_any();
}

std::vector<std::string> missing_parts(const Scenario& s) {
  std::vector<std::string> missing;
  if (s.strategy.data.degree > 1 && s.strategy.data.sharding != Sharding::none)
    missing.emplace_back("the CUDA backend has no sharded data parallelism yet");
  if (s.training.gradient_clip > 0) missing.emplace_back("the CUDA backend does not clip gradients yet");
  if (s.strategy.context.degree > 1) missing.emplace_back("the CUDA backend has no context parallelism yet");
  if (s.strategy.tensor.degree > 1 && s.strategy.tensor.sequence_parallel)
    missing.emplace_back("the CUDA backend has no sequence parallelism yet");
  if (s.strategy.expert.degree > 1 || s.model.transformer.experts.count > 0)
    missing.emplace_back("the CUDA backend has no mixture of experts yet");
  if (s.model.transformer.qk_norm) missing.emplace_back("the CUDA backend does not normalise queries and keys yet");
  return missing;
}

Result execute_on(MPI_Comm comm, Device& device, const Scenario& scenario, const Plan& plan,
                  const ExecuteOptions& options) {
  const Ranks ranks(comm);
  if (plan.mesh.size() != ranks.size())
    throw std::runtime_error(
        fmt::format("the plan is for {} ranks, but {} were started", plan.mesh.size(), ranks.size()));
  for (const Op& op : plan.program(ranks.rank()).ops)
    if (!is_communication(op.kind) && !has_kernel(op.kind, op.role))
      throw std::runtime_error(op_name(plan.program(ranks.rank()), op) + ": the CUDA backend has no kernel for it yet");
  for (const std::string& problem : message_order_problems(plan)) throw std::logic_error(problem);
  const DeviceFacts before = device.facts();
  refuse_shared_devices(ranks, before, host_name());
  DeviceRank run(device, scenario, plan, ranks.rank());
  run.prepare();
  run.connect(share_ids(ranks, device, plan), timeout_s());
  const RunRecord record = run_steps(run, device, ranks, options);
  std::vector<float> values;
  const auto read = [&](BufferId b) {
    values = run.values(b);
    return std::span<const float>(values);
  };
  Result result = gather_results(ranks, plan, record, read, options);
  const double unmeasured =
      options.measure_overhead ? unmeasured_seconds(run, device, ranks, options.warmup + options.steps + 1) : 0;
  if (ranks.rank() != 0) return result;
  note_memory(result, run, before, device.facts());
  result.timeline.notes.push_back(before.name + ", " + before.versions);
  if (options.measure_overhead)
    result.timeline.notes.push_back(fmt::format("a step without measuring every operation: {:.6f} s; with: {:.6f} s",
                                                unmeasured, result.timeline.step_time_s));
  return result;
}

Result execute(const Scenario& scenario, const Plan& plan, const ExecuteOptions& options) {
  if (plan.mesh.size() == 1) return execute_on(MPI_COMM_NULL, *open_device(0), scenario, plan, options);
  initialise_mpi();
  Result result;
  all_or_none([&] {
    const std::unique_ptr<Device> device = open_device(local_rank());
    result = execute_on(MPI_COMM_WORLD, *device, scenario, plan, options);
  });
  return result;
}

}  // namespace trainwire::cuda
