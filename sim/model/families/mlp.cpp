// A multilayer perceptron that classifies feature vectors: in -> hidden × layers -> classes, with ReLU between.
// Hidden layers come in pairs, the first divided by columns and the second by rows, so that a pair starts and ends with
// whole activations. The first pair is the model's first layer; an odd hidden layer stands before the head, undivided.
#include <cmath>

#include "sim/model/families/families.h"
#include "sim/model/graph_builder.h"

namespace trainwire {

Graph expand_mlp(const Model& model, const Batch& batch) {
  const Mlp& mlp = model.mlp;
  GraphBuilder g;
  int x = g.tokens({batch.size, mlp.inputs}, DType::fp32);
  g.targets({batch.size});
  const auto he = [](std::int64_t inputs) { return weight_init(std::sqrt(2.0 / static_cast<double>(inputs))); };
  const std::int64_t paired = mlp.layers / 2 * 2;
  const int last = static_cast<int>(model.layers.size()) - 1;
  for (std::int64_t i = 0; i < mlp.layers; ++i) {
    g.enter(i < paired || paired == 0 ? static_cast<int>(i / 2) : last);
    const std::string name = "fc" + std::to_string(i);
    const std::int64_t inputs = i == 0 ? mlp.inputs : mlp.hidden;
    const int split = i >= paired ? -1 : i % 2 == 0 ? 1 : 0;
    x = g.relu(name + ".relu", g.linear(name, x, {inputs, mlp.hidden}, split, he(inputs), true));
  }
  g.enter(last);
  const std::int64_t inputs = mlp.layers == 0 ? mlp.inputs : mlp.hidden;
  const Init init = weight_init(std::sqrt(1.0 / static_cast<double>(inputs)));
  g.loss(g.linear("head", x, {inputs, mlp.classes}, 1, init, true), batch.step_rows);
  return g.take();
}

void read_mlp_fields(Reader& reader, Model& model) {
  Mlp& mlp = model.mlp;
  mlp.inputs = size_or(reader, "inputs", mlp.inputs, max_width);
  mlp.hidden = size_or(reader, "hidden", mlp.hidden, max_width);
  mlp.layers = size_or(reader, "layers", mlp.layers, max_layers);
  mlp.classes = size_or(reader, "classes", mlp.classes, max_rows);
  const std::int64_t pairs = mlp.layers / 2;
  model.layers = layer_list("first", pairs > 0 ? pairs - 1 : 0, "head");
}

Model read_mlp(const Value& value, Problems& problems) {
  Model model;
  model.family = "mlp";
  model.where = value.where;
  Reader reader(value, "", problems);
  read_description(reader, model);
  read_mlp_fields(reader, model);
  reader.finish();
  return model;
}

}  // namespace trainwire
