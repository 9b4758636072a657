// Steps, one after the other.
#include "backend/cpu/execute.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "backend/common/data.h"
#include "backend/cpu/runtime.h"
#include "sim/config/problems.h"

namespace trainwire::cpu {
namespace {

void initial_parameters(const Scenario& scenario, const Plan& plan, const Program& program, const Coordinates& at,
                        const Arena& arena) {
  for (BufferId b = 0; b < static_cast<BufferId>(program.buffers.size()); ++b) {
    const Tensor& tensor = program.tensor(b);
    if (keeps_parameters(program, b))
      initial_parameter(plan, program, tensor, at, scenario.training.seed, arena.reals(b));
  }
}

void input_data(const Scenario& scenario, const Plan& plan, const Program& program, const Coordinates& at,
                std::int64_t step, const Arena& arena) {
  for (BufferId b = 0; b < static_cast<BufferId>(program.buffers.size()); ++b)
    if (program.tensor(b).category == Category::input) input_values(scenario, plan, program, b, at, step, arena.at(b));
}

}  // namespace

void check_executable(const Scenario& scenario) {
  if (scenario.training.precision == Precision::fp32) return;
  static constexpr std::array<const char*, 5> names{"fp32", "tf32", "fp16", "bf16", "fp8"};
  Problems problems;
  problems.add({Where{scenario.file.string(), 0}, "training.precision",
                names[static_cast<std::size_t>(scenario.training.precision)], "execution on CPUs computes in fp32 only",
                "Add --set training.precision=fp32"});
  problems.throw_if_any();
}

Result execute_on(MPI_Comm comm, const Scenario& scenario, const Plan& plan, const ExecuteOptions& options) {
  const Ranks ranks(comm);
  check_executable(scenario);
  if (plan.mesh.size() != ranks.size())
    throw std::runtime_error(
        fmt::format("the plan is for {} ranks, but {} were started", plan.mesh.size(), ranks.size()));
  const Program& program = plan.program(ranks.rank());
  const Coordinates at = coordinates_of(plan.mesh, ranks.rank());
  const Arena arena(program, at);
  initial_parameters(scenario, plan, program, at, arena);
  RankRun run(scenario, plan, ranks, arena);

  RunRecord record{"cpu", {}, {}};
  for (int step = 0; step < options.warmup + options.steps; ++step) {
    input_data(scenario, plan, program, at, step, arena);
    run.step(step + 1);
    record.losses.push_back(run.loss());
    if (step >= options.warmup) record.measured.push_back({run.spans(), run.started_ns()});
  }
  const auto read = [&](BufferId b) {
    return std::span<const float>(arena.reals(b), static_cast<std::size_t>(program.tensor(b).shape.elements()));
  };
  return gather_results(ranks, plan, record, read, options);
}

Result execute(const Scenario& scenario, const Plan& plan, const ExecuteOptions& options) {
  if (plan.mesh.size() == 1) return execute_on(MPI_COMM_NULL, scenario, plan, options);
  initialise_mpi();
  Result result;
  all_or_none([&] { result = execute_on(MPI_COMM_WORLD, scenario, plan, options); });
  return result;
}

}  // namespace trainwire::cpu
