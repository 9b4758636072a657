// The laws that every family's graph keeps, and the layouts that strategies rely on.
#include <algorithm>
#include <map>
#include <set>

#include "sim/config/data_dir.h"
#include "tests/model/support.h"
#include "tests/test.h"

using namespace trainwire;

namespace {

Graph graph_of(const Model& model, std::int64_t size = 2) {
  Batch batch;
  batch.size = size;
  batch.sequence = model.vision() ? 64 : 16;
  batch.step_rows = 1234;
  return expand(model, batch);
}

const GraphTensor& tensor(const Graph& g, int id) { return g.tensors[static_cast<std::size_t>(id)]; }

const GraphTensor* find(const Graph& g, const std::string& name) {
  for (const GraphTensor& t : g.tensors)
    if (t.name == name) return &t;
  return nullptr;
}

}  // namespace

TEST_CASE("a graph reads only what was written before, and every tensor is written once or an input", "[model]") {
  for (const std::string& name : names_in("models", {".yaml", ".json"})) {
    CAPTURE(name);
    const Model model = shipped(name);
    const Graph g = graph_of(model);
    std::set<int> known{g.tokens, g.targets};
    std::set<std::string> names;
    int layer = 0;
    for (const GraphNode& node : g.nodes) {
      for (const int input : node.inputs) CHECK(known.count(input) == 1);
      for (const int parameter : node.parameters) CHECK(tensor(g, parameter).parameter);
      for (const int output : node.outputs) CHECK(known.insert(output).second);
      CHECK(node.layer >= layer);
      layer = node.layer;
      REQUIRE(node.layer < static_cast<int>(model.layers.size()));
    }
    for (const GraphTensor& t : g.tensors) {
      CAPTURE(t.name);
      CHECK(names.insert(t.name).second);
      CHECK(t.split < t.shape.rank);
    }
    CHECK(g.nodes.back().kind == OpKind::cross_entropy);
    CHECK(g.nodes.back().attributes.tokens == 1234);
    CHECK(layer == static_cast<int>(model.layers.size()) - 1);
  }
}

TEST_CASE("only the residual stream crosses the layers where a pipeline may cut", "[model]") {
  for (const std::string& name : names_in("models", {".yaml", ".json"})) {
    CAPTURE(name);
    const Model model = shipped(name);
    const Graph g = graph_of(model);
    std::map<int, int> writer;
    for (const GraphNode& node : g.nodes)
      for (const int output : node.outputs) writer[output] = node.layer;
    std::map<int, std::set<int>> crossing;  // by the layer that reads: tensors of other layers
    for (const GraphNode& node : g.nodes)
      for (const int input : node.inputs)
        if (input != g.tokens && input != g.targets && writer[input] != node.layer) {
          CHECK(writer[input] == node.layer - 1);
          crossing[node.layer].insert(input);
        }
    for (int layer = 1; layer < static_cast<int>(model.layers.size()); ++layer) CHECK(crossing[layer].size() == 1);
  }
}

TEST_CASE("a linear's result has the shape that its operands imply", "[model]") {
  for (const std::string& name : names_in("models", {".yaml", ".json"})) {
    const Graph g = graph_of(shipped(name));
    for (const GraphNode& node : g.nodes) {
      if (node.kind != OpKind::linear) continue;
      const Shape& x = tensor(g, node.inputs[0]).shape;
      const Shape& y = tensor(g, node.outputs[0]).shape;
      const GraphTensor& weight = tensor(g, node.parameters[0]);
      CAPTURE(name, weight.name);
      const std::int64_t inputs = weight.shape[node.attributes.transposed ? 1 : 0];
      CHECK(x[x.rank - 1] == inputs);
      CHECK(y[y.rank - 1] * inputs == weight.shape.elements());
      CHECK(y.elements() / y[y.rank - 1] == x.elements() / inputs);
      if (node.parameters.size() == 1) continue;
      const GraphTensor& bias = tensor(g, node.parameters[1]);
      CHECK(bias.shape.elements() == y[y.rank - 1]);
      CHECK(bias.split == (weight.split >= 1 ? weight.split - 1 : -1));
    }
  }
}

TEST_CASE("the QKV weight is stored by KV heads, so that tensor parallelism hands out whole groups", "[model]") {
  const Graph g = graph_of(shipped("llama-3-8b"));
  const GraphTensor* weight = find(g, "blocks.3.attention.qkv.weight");
  REQUIRE(weight != nullptr);
  CHECK(weight->shape == Shape{4096, 8, (4 + 2) * 128});
  CHECK(weight->split == 1);
  CHECK(find(g, "blocks.3.attention.log_sum_exp")->shape == Shape{2, 32, 16});
  CHECK(find(g, "blocks.3.mlp.gate_up.weight")->shape == Shape{4096, 2, 14336});
  CHECK(find(g, "blocks.3.mlp.gate_up.weight")->split == 2);
}

TEST_CASE("a tied head reads the embedding's table, and the table is counted once", "[model]") {
  const Graph g = graph_of(shipped("gpt2-124m"));
  const auto head =
      std::find_if(g.nodes.begin(), g.nodes.end(), [](const GraphNode& n) { return n.attributes.transposed; });
  REQUIRE(head != g.nodes.end());
  CHECK(tensor(g, head->parameters[0]).name == "embedding.weight");
  CHECK(find(g, "head.weight") == nullptr);
}

TEST_CASE("gradient buckets of ResNet-18 are those of PyTorch's DDP", "[model]") {
  // Sizes in bytes observed with bucket_cap_mb 25 and 35: github.com/pytorch/pytorch/issues/48880. Buckets fill in the
  // reverse order of the parameters; the first is capped at 1 MiB, and one that reaches its cap is closed.
  struct Row {
    double cap;
    std::vector<std::int64_t> sizes;
  };
  const Row row = GENERATE(Row{25, {2052000, 28852224, 15853824}}, Row{35, {2052000, 38297600, 6408448}});
  const Graph g = graph_of(shipped("resnet-18"));
  std::vector<std::int64_t> sizes{0};
  double cap = 1024 * 1024;
  for (auto t = g.tensors.rbegin(); t != g.tensors.rend(); ++t) {
    if (!t->parameter) continue;
    if (static_cast<double>(sizes.back()) >= cap) {
      sizes.push_back(0);
      cap = row.cap * 1024 * 1024;
    }
    sizes.back() += t->shape.elements() * 4;
  }
  CHECK(sizes == row.sizes);
}

TEST_CASE("an MLP's hidden layers alternate between columns and rows", "[model]") {
  Problems problems;
  const Model model = load("{family: mlp, inputs: 8, hidden: 16, layers: 5, classes: 4}", problems);
  const Graph g = graph_of(model);
  const int expected[] = {1, 0, 1, 0, -1, 1};
  std::size_t i = 0;
  for (const GraphNode& node : g.nodes)
    if (node.kind == OpKind::linear) CHECK(tensor(g, node.parameters[0]).split == expected[i++]);
  CHECK(i == 6);
  CHECK(model.layers.size() == 3);  // first pair, second pair, head
}
