// Laws of every strategy and combination: what is computed, stored and sent in total follows from closed forms.
#include <map>
#include <numeric>

#include "tests/scenarios.h"
#include "tests/test.h"

using namespace trainwire;
using namespace trainwire::testing;

namespace {

const std::vector<Degrees> combinations{{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 2, 1},
                                        {2, 1, 2}, {1, 2, 2}, {2, 2, 2}, {1, 4, 2}, {4, 1, 1}};

double bytes_on(const Plan& plan, Axis axis, OpKind kind, const std::string& operand = "") {
  double total = 0;
  for (Rank r = 0; r < plan.mesh.size(); ++r)
    for (const Op& op : plan.program(r).ops)
      if (op.kind == kind && op.axis == axis && op_name(plan.program(r), op).find(operand) != std::string::npos)
        total += plan.program(r).communication_bytes(op);
  return total;
}

double product_flops(const Plan& plan) {
  double flops = 0;
  for (Rank r = 0; r < plan.mesh.size(); ++r) {
    const Program& p = plan.program(r);
    for (const Op& op : p.ops)
      if (op.kind == OpKind::linear && op.role == Role::forward)
        flops += 2.0 * static_cast<double>(p.tensor(p.inputs(op)[0]).shape.elements()) *
                 static_cast<double>(p.tensor(p.inputs(op)[1]).shape.elements()) /
                 static_cast<double>(p.attributes[op.attributes].transposed ? p.tensor(p.inputs(op)[1]).shape[1]
                                                                            : p.tensor(p.inputs(op)[1]).shape[0]);
  }
  return flops;
}

}  // namespace

TEST_CASE("every combination of data, tensor and pipeline builds a sound plan", "[build]") {
  for (const auto& model : {tiny_gpt(), tiny_llama(), tiny_mlp()})
    for (const Degrees d : combinations) {
      CAPTURE(model, d.data, d.tensor, d.pipeline);
      CHECK(verify(build_plan(make_scenario(model, d))).empty());
    }
  for (const Degrees d : {Degrees{1, 1, 1}, Degrees{4, 1, 1}, Degrees{2, 1, 2}})
    CHECK(verify(build_plan(make_scenario(tiny_resnet(), d))).empty());
}

TEST_CASE("flops of the products summed over ranks do not depend on the strategy", "[build]") {
  for (const auto& model : {tiny_gpt(), tiny_llama(), tiny_mlp()}) {
    const double alone = product_flops(build_plan(make_scenario(model, {})));
    for (const Degrees d : combinations) {
      CAPTURE(d.data, d.tensor, d.pipeline);
      CHECK(relative_error(product_flops(build_plan(make_scenario(model, d))), alone) < 1e-12);
    }
  }
}

TEST_CASE("tensor ranks and stages store every split parameter once; replicas store all of it", "[build]") {
  for (const auto& model : {tiny_llama(), tiny_mlp()})
    for (const Degrees d : combinations) {
      CAPTURE(d.data, d.tensor, d.pipeline);
      const Plan plan = build_plan(make_scenario(model, d));
      std::map<std::int32_t, double> stored;
      for (Rank r = 0; r < plan.mesh.size(); ++r)
        for (const Buffer& b : plan.program(r).buffers) {
          const Tensor& t = plan.program(r).tensors[static_cast<std::size_t>(b.tensor)];
          if (t.category == Category::parameter) stored[t.parameter] += static_cast<double>(t.shape.elements());
        }
      for (std::size_t p = 0; p < plan.parameters.size(); ++p) {
        const int copies = d.data * (plan.parameters[p].split < 0 ? d.tensor : 1);
        CHECK(stored[static_cast<std::int32_t>(p)] ==
              copies * static_cast<double>(plan.parameters[p].shape.elements()));
      }
    }
}

TEST_CASE("data parallelism all-reduces every gradient once a step, however many micro-batches", "[build]") {
  for (const std::int64_t batch : {4, 16, 64}) {
    const Scenario s = make_scenario(tiny_gpt(), {2, 1, 1}, batch);
    const double gradients = static_cast<double>(parameter_count(s.model)) * bytes_of(s.training.grad_dtype);
    CHECK(bytes_on(build_plan(s), Axis::data, OpKind::all_reduce) == 2 * gradients);
  }
}

// Megatron-LM (Shoeybi et al. 2019), §3: two all-reduces of B·S·H forward and two backward a layer; the embedding
// adds one forward, the head's input gradient one backward.
TEST_CASE("tensor parallelism all-reduces the hidden state four times a layer and micro-batch", "[build]") {
  const Scenario s = make_scenario(tiny_llama(), {1, 4, 1});
  const double hidden = static_cast<double>(s.training.micro_batch * s.training.sequence) * 32 * 4;
  const double layers = static_cast<double>(s.model.transformer.layers);
  const double per_micro_batch = (4 * layers + 2) * hidden;
  const double loss = static_cast<double>(s.training.micro_batch * s.training.sequence) * 4 * (1 + 2);
  const double expected = 4 * static_cast<double>(s.micro_batches()) * (per_micro_batch + loss);
  CHECK(bytes_on(build_plan(s), Axis::tensor, OpKind::all_reduce) == expected);
}

TEST_CASE("pipeline stages send the hidden state forward and its gradient back", "[build]") {
  for (const int stages : {2, 4}) {
    const Scenario s = make_scenario(tiny_llama(), {1, 1, stages});
    const double hidden = static_cast<double>(s.training.micro_batch * s.training.sequence) * 32 * 4;
    CHECK(bytes_on(build_plan(s), Axis::pipeline, OpKind::send) ==
          2 * (stages - 1) * static_cast<double>(s.micro_batches()) * hidden);
  }
}

TEST_CASE("tied embeddings on two stages exchange their gradient once each way", "[build]") {
  const Scenario s = make_scenario(tiny_gpt(), {1, 1, 4});
  const Plan plan = build_plan(s);
  double exchanged = 0;
  for (const Program& p : plan.programs)
    for (const Op& op : p.ops)
      if (op.kind == OpKind::send && op.micro_batch < 0) exchanged += p.communication_bytes(op);
  const double table = 64.0 * 32 * bytes_of(s.training.grad_dtype);
  CHECK(exchanged == 2 * table);
}

// PyTorch issue 48880: DDP of torchvision's ResNet-18 in fp32 with caps of 25 and 35 MiB.
TEST_CASE("gradient buckets of ResNet-18 have PyTorch's sizes and order", "[build]") {
  const auto sizes = [](double cap_mib) {
    Scenario s = make_scenario("{use: resnet-18}", {2, 1, 1}, 4);
    s.strategy.data.bucket = Bytes(cap_mib * 1024 * 1024);
    const Plan plan = build_plan(s);
    std::vector<double> found;
    for (const Op& op : plan.programs[0].ops)
      if (op.kind == OpKind::all_reduce) found.push_back(plan.programs[0].communication_bytes(op));
    return found;
  };
  CHECK(sizes(25) == std::vector<double>{2052000, 28852224, 15853824});
  CHECK(sizes(35) == std::vector<double>{2052000, 38297600, 6408448});
}
