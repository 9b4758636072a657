// The family table, and the keys that the model files of all families share.
#include "sim/model/families/families.h"

#include <stdexcept>

namespace trainwire {

const std::vector<Family>& families() {
  static const std::vector<Family> table = {
      {"transformer", read_transformer, expand_transformer},
      {"mlp", read_mlp, expand_mlp},
      {"cnn", read_cnn, expand_cnn},
  };
  return table;
}

Graph expand(const Model& model, const Batch& batch) {
  for (const Family& family : families())
    if (model.family == family.name) return family.expand(model, batch);
  throw std::logic_error("expand: no family '" + model.family + "' (model " + model.name + ")");
}

void read_description(Reader& reader, Model& model) {
  reader.text("family", model.family);
  model.name = reader.text("name", model.name);
  model.source = reader.text("source", model.source);
  if (!reader.has("parameters")) return;
  const Value value = reader.map_or_shorthand("parameters", "value");
  Reader parameters(value, reader.path("parameters"), reader.problems());
  model.published_parameters = parameters.require_integer("value", 1);
  parameters.require_text("source");
  parameters.finish();
}

std::vector<Layer> layer_list(const std::string& first, std::int64_t blocks, const std::string& last) {
  std::vector<Layer> layers;
  layers.push_back({first, Layer::Kind::first});
  for (std::int64_t i = 0; i < blocks; ++i) layers.push_back({"blocks." + std::to_string(i), Layer::Kind::block});
  layers.push_back({last, Layer::Kind::last});
  return layers;
}

std::int64_t size_or(Reader& reader, const std::string& key, std::int64_t current, std::int64_t max) {
  return current > 0 ? reader.integer(key, current, 1, max) : reader.require_integer(key, 1, max);
}

}  // namespace trainwire
