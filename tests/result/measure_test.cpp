// The report of a run on a real topology.
#include "sim/config/value.h"
#include "sim/result/report.h"
#include "tests/result/toy.h"
#include "tests/test.h"

using namespace trainwire;

namespace {

Topology topology_of(const std::string& yaml) {
  Problems problems;
  const Value value = read_text(yaml, "test.yaml", problems);
  Topology topology = load_topology(value, TRAINWIRE_SOURCE_DIR, problems);
  problems.throw_if_any();
  return topology;
}

// Two tensor-parallel ranks on neighbouring GPUs: a product of 3 s, then an all-reduce of 1 s.
struct Run {
  Scenario scenario;
  Plan plan;
  Timeline timeline;
};

Run tensor_parallel_run() {
  Run run;
  run.scenario.name = "two GPUs";
  run.scenario.topology = topology_of("{use: dgx-h100, nodes: 1}");
  run.scenario.placement = {0, 1};
  run.scenario.model.family = "transformer";
  run.scenario.model.transformer = {.layers = 2,
                                    .hidden = 64,
                                    .heads = 4,
                                    .kv_heads = 4,
                                    .head_dim = 16,
                                    .ffn_hidden = 256,
                                    .vocab = 1000,
                                    .experts = {}};
  run.scenario.training.sequence = 128;
  run.scenario.training.global_batch = 8;
  run.scenario.training.precision = Precision::bf16;
  run.plan.mesh = run.scenario.mesh = toy::mesh_of(2, 1, 1);
  run.plan.program_of = {0, 0};
  Program program;
  program.layers = {"blocks.0"};
  const auto weight = toy::add_buffer(program, Category::parameter, 1'000'000);
  const OpId work = toy::add_op(program, toy::compute(OpKind::linear), {}, {weight}, {});
  toy::add_op(program, toy::collective(OpKind::all_reduce, Axis::tensor, 1), {work});
  run.plan.programs.push_back(program);
  run.timeline = toy::schedule(run.plan, [](Rank, const Op& op) { return is_communication(op.kind) ? 1.0 : 3.0; });
  return run;
}

}  // namespace

TEST_CASE("Rates: tokens a step over its time; MFU is model flops over what all devices could do") {
  const Run run = tensor_parallel_run();
  const Report report = measure(run.scenario, run.plan, run.timeline);
  const double step = 4;
  CHECK(report.step_time_s == Approx(step));
  CHECK(report.tokens_per_s == Approx(8 * 128 / step));
  const double flops = model_flops(run.scenario.model, 128, 8);
  const double peak = run.scenario.topology.spec(0).peak[static_cast<std::size_t>(DType::bf16)].value.value;
  CHECK(report.model_flops_per_s_per_gpu == Approx(flops / step / 2));
  CHECK(report.mfu == Approx(flops / step / (2 * peak)));
}

TEST_CASE("What a communication on the critical path is named after: its axis and the class of its links") {
  const Run run = tensor_parallel_run();
  const Report report = measure(run.scenario, run.plan, run.timeline);
  REQUIRE(report.bound_by.size() == 2);
  CHECK(report.bound_by[0].what == "compute: linear");
  CHECK(report.bound_by[0].share == Approx(0.75));
  CHECK(report.bound_by[1].what == "communication: tensor on nvlink");
}

TEST_CASE("Use of a link is bytes over what it can carry in the step, the most used first") {
  Run run = tensor_parallel_run();
  const double rate = run.scenario.topology.links[1].effective();
  run.timeline.links = {{0, 1e6, 1, 1}, {1, rate * 2, 3, 4}, {2, 0, 0, 1}};
  const Report report = measure(run.scenario, run.plan, run.timeline);
  REQUIRE(report.links.size() == 2);  // unused links are left out
  CHECK(report.links[0].name == run.scenario.topology.links[1].name);
  CHECK(report.links[0].utilisation == Approx(2.0 / 4.0));
  CHECK(report.links[0].copies == 4);
}

TEST_CASE("A plan larger than a device's memory does not fit, and the report says so") {
  Run run = tensor_parallel_run();
  CHECK(measure(run.scenario, run.plan, run.timeline).fits);
  run.scenario.topology.specs[0].memory.value = Bytes(1e6);
  const Report report = measure(run.scenario, run.plan, run.timeline);
  CHECK_FALSE(report.fits);
  CHECK(report.peak_bytes == 4e6);
  REQUIRE(report.warnings.size() == 1);
  CHECK_THAT(report.warnings[0], contains("does not fit"));
}

TEST_CASE("A CPU without a data-sheet rate is measured against its best product; an unknown rate gives no MFU") {
  Run run = tensor_parallel_run();
  auto& spec = run.scenario.topology.specs[0];
  spec.peak = {};
  CHECK(measure(run.scenario, run.plan, run.timeline).mfu == 0);
  spec.cpu.products.resize(2);
  spec.cpu.products[0].m = spec.cpu.products[0].n = spec.cpu.products[0].k = 100;
  spec.cpu.products[0].seconds = 1e-3;
  spec.cpu.products[1] = spec.cpu.products[0];
  spec.cpu.products[1].m = 200;
  const double best = 2.0 * 200 * 100 * 100 / 1e-3;
  const Report report = measure(run.scenario, run.plan, run.timeline);
  CHECK(report.mfu == Approx(report.model_flops_per_s_per_gpu / best));
}

TEST_CASE("The summary names the parts that a person asks for and stays on one screen") {
  const Run run = tensor_parallel_run();
  const std::string text = to_summary(measure(run.scenario, run.plan, run.timeline));
  for (const char* piece : {"step time", "tokens/s", "MFU", "exposed tensor", "parameters", "critical path"})
    CHECK_THAT(text, contains(piece));
  CHECK(std::count(text.begin(), text.end(), '\n') < 45);
}
