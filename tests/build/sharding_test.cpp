// Laws of the data axis: what is stored and sent follows from the closed forms in sim/parallel/data.cpp.
#include <map>

#include "tests/combinations.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

struct Row {
  Sharding sharding;
  bool optimizer, gradients, parameters;
};
// Rajbhandari et al. 2020 ("ZeRO"), section 5: which states each stage shares out.
const std::vector<Row> rows{{Sharding::none, false, false, false}, {Sharding::zero1, true, false, false},
                            {Sharding::zero2, true, true, false},  {Sharding::zero3, true, true, true},
                            {Sharding::fsdp, true, true, true},    {Sharding::hsdp, true, true, true}};

const std::vector<Degrees> combinations{{1, 1, 1}, {2, 1, 1}, {4, 1, 1}, {2, 2, 1}, {2, 1, 2}, {2, 2, 2}, {4, 1, 4}};

Scenario scenario(const std::string& model, Degrees d, Sharding sharding, std::int64_t batch = 16) {
  Scenario s = make_scenario(model, d, batch);
  if (sharding == Sharding::hsdp) shard_in_halves(s);
  s.strategy.data.sharding = sharding;
  s.strategy.data.bucket = Bytes(16384);
  return s;
}

double bytes_a_rank(const Plan& plan, Axis axis, OpKind kind) {
  double total = 0;
  for (const Op& op : plan.programs[0].ops)
    if (op.kind == kind && op.axis == axis) total += plan.programs[0].communication_bytes(op);
  return total;
}

// Elements that the ranks keep over the step, by category. Views are part of what they lie in; padding counts.
double stored(const Plan& plan, Category category) {
  double elements = 0;
  for (Rank r = 0; r < plan.mesh.size(); ++r)
    for (const Buffer& b : plan.program(r).buffers) {
      const Tensor& t = plan.program(r).tensors[static_cast<std::size_t>(b.tensor)];
      if (t.category == category && t.view_of < 0 && !t.gathered && b.micro_batch < 0)
        elements += static_cast<double>(t.shape.elements());
    }
  return elements;
}

double elements_of(const Plan& plan, const DeviceMesh& mesh) {
  double elements = 0;
  for (const ModelParameter& p : plan.parameters)
    elements += static_cast<double>(p.shape.elements()) * (p.split < 0 ? mesh.degree(Axis::tensor) : 1);
  return elements;
}

}  // namespace

TEST_CASE("every sharding builds a sound plan with tensor and pipeline ranks, whatever the schedule", "[build]") {
  for (const Row& row : rows)
    for (const std::string& model : {tiny_gpt(), tiny_llama(), tiny_mlp()})
      for (const Degrees d : combinations) {
        if (model == tiny_mlp() && d.pipeline > 2) continue;
        for (const PipelineSchedule schedule :
             {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b, PipelineSchedule::zero_bubble}) {
          Scenario s = scenario(model, d, row.sharding);
          s.strategy.pipeline.schedule = schedule;
          CAPTURE(model, d.data, d.tensor, d.pipeline, static_cast<int>(row.sharding), static_cast<int>(schedule));
          CHECK(verify(build_plan(s)).empty());
        }
      }
}

TEST_CASE("at a data degree of 1 every sharding is the plan without", "[build]") {
  const Plan plain = build_plan(scenario(tiny_gpt(), {1, 2, 2}, Sharding::none));
  for (const Row& row : rows) {
    const Plan plan = build_plan(scenario(tiny_gpt(), {1, 2, 2}, row.sharding));
    for (std::size_t p = 0; p < plan.programs.size(); ++p) {
      CHECK(plan.programs[p].ops.size() == plain.programs[p].ops.size());
      CHECK(plan.programs[p].buffers.size() == plain.programs[p].buffers.size());
    }
  }
}

TEST_CASE("each parameter, gradient and state is stored as many times as the table says", "[build]") {
  for (const Row& row : rows)
    for (const Degrees d : {Degrees{2, 1, 1}, Degrees{4, 1, 1}, Degrees{2, 2, 1}, Degrees{4, 2, 2}}) {
      const Scenario s = scenario(tiny_llama(), d, row.sharding, 32);
      const Plan plan = build_plan(s);
      const double parameters = elements_of(plan, s.mesh);
      const double groups = row.sharding == Sharding::hsdp ? 2 : 1;
      const auto copies = [&](bool shared) { return shared ? groups : d.data; };
      CAPTURE(static_cast<int>(row.sharding), d.data, d.tensor, d.pipeline);
      // A flat tensor is padded to a multiple of the degree: at most that many elements a bucket.
      const double padding = 64.0 * d.data * d.data * d.tensor;
      const auto about = [&](Category c, double expected) {
        CHECK(stored(plan, c) >= expected);
        CHECK(stored(plan, c) <= expected + padding);
      };
      about(Category::parameter, parameters * copies(row.parameters));
      about(Category::optimizer, 2 * parameters * copies(row.optimizer));
      if (row.parameters && d.pipeline > 1 && row.sharding != Sharding::zero3) continue;  // reduced once a step
      about(Category::gradient, parameters * copies(row.gradients));
    }
}

TEST_CASE("bytes on the data axis are the closed forms", "[build]") {
  for (const std::int64_t batch : {8, 32})
    for (const int n : {2, 4}) {
      const auto plan_of = [&](Sharding sharding) {
        return build_plan(scenario(tiny_llama(), {n, 1, 1}, sharding, batch));
      };
      const Plan ddp = plan_of(Sharding::none), zero1 = plan_of(Sharding::zero1), zero2 = plan_of(Sharding::zero2),
                 zero3 = plan_of(Sharding::zero3);
      const double psi = 4 * elements_of(ddp, ddp.mesh);  // divides evenly: no padding
      const auto m = static_cast<double>(ddp.micro_batches);
      CAPTURE(batch, n);
      CHECK(bytes_a_rank(ddp, Axis::data, OpKind::all_reduce) == psi);
      CHECK(bytes_a_rank(zero1, Axis::data, OpKind::reduce_scatter) == psi);
      CHECK(bytes_a_rank(zero1, Axis::data, OpKind::all_gather) == psi);
      CHECK(bytes_a_rank(zero2, Axis::data, OpKind::reduce_scatter) == m * psi);
      CHECK(bytes_a_rank(zero2, Axis::data, OpKind::all_gather) == psi);
      CHECK(bytes_a_rank(zero3, Axis::data, OpKind::reduce_scatter) == m * psi);
      CHECK(bytes_a_rank(zero3, Axis::data, OpKind::all_gather) == 2 * m * psi);
      for (const Plan* plan : {&zero1, &zero2, &zero3}) CHECK(bytes_a_rank(*plan, Axis::data, OpKind::all_reduce) == 0);
      Scenario kept = scenario(tiny_llama(), {n, 1, 1}, Sharding::fsdp, batch);
      kept.strategy.data.reshard_after_forward = false;
      kept.strategy.data.no_sync = true;
      const Plan fsdp = build_plan(kept);
      CHECK(bytes_a_rank(fsdp, Axis::data, OpKind::all_gather) == m * psi);
      CHECK(bytes_a_rank(fsdp, Axis::data, OpKind::reduce_scatter) == psi);
    }
  const Plan hsdp = build_plan(scenario(tiny_llama(), {4, 1, 1}, Sharding::hsdp));
  const double psi = 4 * elements_of(hsdp, hsdp.mesh);
  CHECK(bytes_a_rank(hsdp, Axis::replica, OpKind::all_reduce) == psi / 2);
  CHECK(bytes_a_rank(hsdp, Axis::data, OpKind::all_gather) == 2 * static_cast<double>(hsdp.micro_batches) * psi);
}

TEST_CASE("a unit is gathered no further ahead than the limit, and dropped after its last use", "[build]") {
  for (const int prefetch : {0, 1, 2}) {
    Scenario s = scenario(tiny_llama(), {2, 1, 1}, Sharding::fsdp, 8);
    s.strategy.data.prefetch = prefetch;
    const Plan plan = build_plan(s);
    const Program& p = plan.programs[0];
    // Alive in program order: from its gather to the last operation that reads it.
    std::map<std::pair<TensorId, std::int32_t>, std::pair<std::size_t, std::size_t>> life;
    for (std::size_t i = 0; i < p.ops.size(); ++i) {
      const auto touch = [&](BufferId b) {
        const Tensor& t = p.tensor(b);
        if (!t.gathered) return;
        const TensorId root = t.view_of >= 0 ? t.view_of : p.buffers[static_cast<std::size_t>(b)].tensor;
        const auto [entry, fresh] =
            life.try_emplace({root, p.buffers[static_cast<std::size_t>(b)].micro_batch}, std::pair{i, i});
        if (!fresh) entry->second.second = i;
      };
      for (const BufferId b : p.inputs(p.ops[i])) touch(b);
      for (const BufferId b : p.outputs(p.ops[i])) touch(b);
    }
    std::size_t most = 0;
    for (std::size_t i = 0; i < p.ops.size(); ++i) {
      std::size_t alive = 0;
      for (const auto& [key, span] : life) alive += span.first <= i && i <= span.second ? 1 : 0;
      most = std::max(most, alive);
    }
    CAPTURE(prefetch);
    CHECK(most == static_cast<std::size_t>(prefetch) + 1);
    CHECK(life.size() == 2 * 6 * static_cast<std::size_t>(plan.micro_batches));  // 4 blocks, embedding, head
  }
}
