#include "backend/calibrate/calibrate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>

#include "backend/calibrate/kernels.h"
#include "backend/calibrate/machine_file.h"
#include "backend/calibrate/ranks.h"
#include "backend/cpu/execute.h"
#include "backend/common/ranks.h"
#include "sim/config/data_dir.h"

namespace trainwire::cpu {
namespace {

constexpr int ranks_started = 4;
// 12 MiB of fp32: in a step, an operation finds in a cache what the one before it wrote, but not what long ago was read.
constexpr std::int64_t pool_elements = 3 << 20;

double rate(const Curve& curve, double units_per_element) {
  return units_per_element * curve.x.back() / curve.y.back();
}

// What needs one core alone, on rank 0 while the others sleep.
void measure_alone(Machine& machine, const CalibrateOptions& options, Spreads& spreads) {
  const auto say = [&](const char* what) {
    if (options.say) options.say(what);
  };
  Pool pool(pool_elements);
  say("matrix products by shape");
  machine.cpu.products = measure_products(pool, options.quick, spreads);
  say("kernels by size");
  machine.cpu.kernels = measure_kernels(pool, options.quick, spreads);
  machine.cpu.kernels.merge(measure_attention(pool, options.quick, spreads));
  for (const MeasuredProduct& p : machine.cpu.products)
    machine.peak = std::max(machine.peak, 2.0 * static_cast<double>(p.m * p.n) * static_cast<double>(p.k) / p.seconds);
  const Curve& add = machine.cpu.kernels.at("add/forward");
  machine.memory_bandwidth = rate(add, 3 * sizeof(float));
  machine.vector_rate = rate(machine.cpu.kernels.at("gelu/forward"), 14);
  machine.cpu.reduction = add;
  for (double& x : machine.cpu.reduction.x) x *= sizeof(float);
}

// On every rank.
void measure(Machine& machine, const CalibrateOptions& options) {
  Spreads spreads;
  if (world_rank() == 0) {
    machine.date = fmt::format("{:%Y-%m-%d %H:%M}",
                               fmt::localtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
    measure_alone(machine, options, spreads);
    if (options.say) options.say("messages and shared cores");
    wake_others(MPI_COMM_WORLD);
  } else {
    wait_quietly(MPI_COMM_WORLD);
  }
  machine.ranks = measure_ranks(MPI_COMM_WORLD, options.quick, spreads);
  if (world_rank() == 0) machine.spread = median_of(spreads.values).seconds;
}

}  // namespace

std::filesystem::path machine_file(const CalibrateOptions& options) {
  return options.file.empty() ? data_dir() / "topologies" / "this-machine.yaml" : options.file;
}

int calibrate(const CalibrateOptions& options, const std::vector<std::string>& arguments) {
  const std::filesystem::path file = machine_file(options);
  if (!options.force && is_fresh(file)) {
    if (options.say)
      options.say(fmt::format("{} was measured here within the last day; --force measures again", file.string()));
    return 0;
  }
  const int started = launch_ranks(ranks_started, arguments);
  if (started >= 0) return started;
  initialise_mpi();
  Machine machine;
  machine.host = host_facts();
  all_or_none([&] { measure(machine, options); });
  if (world_rank() != 0) return 0;
  machine.cpu.cores = machine.host.cores;
  machine.cpu.core_sharing = machine.ranks.core_sharing;
  machine.cpu.operation_overhead = Seconds(machine.ranks.operation_overhead);
  machine.cpu.messages = {{"shared-memory", machine.ranks.message}};
  write_machine_file(file, machine);
  if (options.say) options.say(fmt::format("wrote {}", file.string()));
  return 0;
}

}  // namespace trainwire::cpu
