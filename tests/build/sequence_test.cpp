// Laws of sequence parallelism (Korthikanti et al. 2022, "Reducing activation recomputation in large transformer
// models").
#include <set>

#include "tests/scenarios.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

Scenario with_sequence_parallel(const std::string& model, Degrees d) {
  Scenario s = make_scenario(model, d);
  s.strategy.tensor.sequence_parallel = true;
  return s;
}

// Bytes that a ring moves over the axis per rank, in units of one rank's share of the group: (n-1)/n of the buffer for
// a gather or a scatter, twice that for an all-reduce.
double ring_bytes(const Plan& plan, bool gathers_again) {
  const Program& p = plan.programs[0];
  const double n = plan.mesh.degree(Axis::tensor);
  double total = 0;
  for (const Op& op : p.ops) {
    if (!is_communication(op.kind) || op.axis != Axis::tensor || op.micro_batch < 0) continue;
    const bool again = op_name(p, op).find(" again") != std::string::npos;
    if (again != gathers_again) continue;
    total += p.communication_bytes(op) * (op.kind == OpKind::all_reduce ? 2 : 1) * (n - 1) / n;
  }
  return total;
}

// Bytes of the activations of a block in the middle that its forward pass leaves for backward.
double kept_by_block(const Scenario& s, int layer) {
  const Plan plan = build_plan(s);
  const Program& p = plan.programs[0];
  std::set<BufferId> kept;
  for (const Op& op : p.ops) {
    if (op.role == Role::forward) continue;
    for (const BufferId b : p.inputs(op))
      if (p.buffers[static_cast<std::size_t>(b)].micro_batch == 0 && p.tensor(b).layer == layer) kept.insert(b);
  }
  std::set<BufferId> written;
  for (const Op& op : p.ops)
    if (op.role == Role::forward)
      for (const BufferId b : p.outputs(op)) written.insert(b);
  double bytes = 0;
  for (const BufferId b : kept)
    if (written.contains(b)) bytes += p.tensor(b).bytes();
  return bytes;
}

}  // namespace

TEST_CASE("sequence parallelism moves the bytes of plain tensor parallelism, and gathers kept shards again",
          "[build]") {
  for (const auto& model : {tiny_gpt(), tiny_llama()})
    for (const int n : {2, 4}) {
      CAPTURE(model, n);
      const Scenario s = with_sequence_parallel(model, {1, n, 1});
      const Plan plain = build_plan(make_scenario(model, {1, n, 1})), shared = build_plan(s);
      CHECK(relative_error(ring_bytes(shared, false), ring_bytes(plain, false)) < 1e-12);
      CHECK(ring_bytes(plain, true) == 0);
      // The input of the QKV product, of the first MLP product and of the head.
      const double hidden = static_cast<double>(s.training.micro_batch * s.training.sequence) * 32 * 4;
      const double again = (2.0 * static_cast<double>(s.model.transformer.layers) + 1) * hidden * (n - 1) / n;
      CHECK(relative_error(ring_bytes(shared, true), again * static_cast<double>(s.micro_batches())) < 1e-12);
    }
}

TEST_CASE("ranks that share the sequence sum the gradients of what they use on shards once a step", "[build]") {
  const Scenario s = with_sequence_parallel(tiny_gpt(), {1, 2, 1});
  const Plan plan = build_plan(s);
  double summed = 0;
  for (const Op& op : plan.programs[0].ops)
    if (op.kind == OpKind::all_reduce && op.axis == Axis::tensor && op.micro_batch < 0)
      summed += plan.programs[0].communication_bytes(op);
  // Positions (16,32); a layer: gain and bias of two norms, biases of the two row-parallel products; the last norm.
  CHECK(summed == 4 * (16.0 * 32 + 4 * (4 * 32 + 2 * 32) + 2 * 32));
}

// Eqs. 2 and 4 without dropout masks (2·sbh) and without the scores (5·a·s²·b), which FlashAttention does not keep: of
// the 34·sbh stay 32: 8 + 24/t with tensor parallelism alone, 32/t with sequence parallelism. Norm statistics (two
// numbers a row) and log-sum-exps (one a row and head) come on top, in fp32.
TEST_CASE("activations of a layer are those of Korthikanti et al., all of them divided by the tensor degree",
          "[build]") {
  for (const int t : {1, 2, 4})
    for (const bool shared : {false, true}) {
      CAPTURE(t, shared);
      Scenario s = make_scenario(tiny_gpt(), {1, t, 1});
      s.training.precision = Precision::bf16;
      s.strategy.tensor.sequence_parallel = shared;
      const double rows = static_cast<double>(s.training.sequence * s.training.micro_batch), sbh = rows * 32;
      const double statistics = 2 * rows * 2 * 4 / (shared ? t : 1), log_sums = rows * 4 * 4 / t;
      const double expected = shared ? 32 * sbh / t : 8 * sbh + 24 * sbh / t;
      CHECK(kept_by_block(s, 2) == expected + statistics + log_sums);
    }
}
