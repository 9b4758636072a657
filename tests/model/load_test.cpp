// Names, paths, overrides, and what is said about wrong ones.
#include "tests/model/support.h"
#include "tests/test.h"

using namespace trainwire;

namespace {
std::string problems_of(const std::string& text) {
  Problems problems;
  load(text, problems);
  return messages(problems);
}
const std::string sizes = "{family: transformer, layers: 2, vocab: 64, ";
}  // namespace

TEST_CASE("overrides change sizes of a named model, and what follows from them", "[model]") {
  Problems problems;
  const Model model = load("{use: gpt2-124m, layers: 3, hidden: 384}", problems);
  CHECK(messages(problems) == "");
  CHECK(model.layers.size() == 5);
  CHECK(model.transformer.head_dim == 384 / 12);
  CHECK(model.transformer.ffn_hidden == 4 * 384);
  CHECK_FALSE(model.published_parameters.has_value());
}

TEST_CASE("a model read from a Hugging Face config takes overrides in our keys", "[model]") {
  Problems problems;
  const Model model = load("{use: llama-3-8b, layers: 4}", problems);
  CHECK(messages(problems) == "");
  CHECK(model.transformer.layers == 4);
  CHECK(model.transformer.kv_heads == 8);
}

TEST_CASE("a path to a model file is found from the file that names it", "[model]") {
  Problems problems;
  const Model model = load("llama-3-8b.json", problems, std::string(TRAINWIRE_SOURCE_DIR) + "/models");
  CHECK(messages(problems) == "");
  CHECK(model.name == "llama-3-8b");
}

TEST_CASE("a name that is not in models/ lists the near ones", "[model]") {
  const std::string text = problems_of("{use: lama-3-8b}");
  CAPTURE(text);
  CHECK(contains(text, "scenario.yaml:1: model.use = lama-3-8b: no model of this name in models/"));
  CHECK(contains(text, "llama-3-8b"));
}

TEST_CASE("each wrong size of a model is a problem with its place", "[model]") {
  struct Row {
    std::string text, expected;
  };
  const Row row = GENERATE(
      Row{sizes + "hidden: 100, heads: 8}", "hidden = 100: must be a multiple of heads = 8"},
      Row{sizes + "hidden: 64, heads: 8, kv_heads: 5}", "kv_heads = 5: must divide heads = 8"},
      Row{sizes + "hidden: 64, heads: 8, kv_heads: 0}", "kv_heads = 0"},
      Row{sizes + "hidden: -64, heads: 8}", "hidden = -64"},
      Row{sizes + "hidden: 24, heads: 8}", "rotary positions turn pairs of channels"},
      Row{sizes + "hidden: many, heads: 8}", "hidden = many"}, Row{sizes + "hidden: 64}", "heads: is missing"},
      Row{sizes + "hidden: 64, heads: 8, layer: 3}", "layer = 3: is not a known key. Did you mean layers?"},
      Row{sizes + "hidden: 64, heads: 8, positions: learned}", "max_sequence: is missing"},
      Row{sizes + "hidden: 64, heads: 8, activation: geglu}", "activation = geglu"},
      Row{sizes + "hidden: 1000000000000, heads: 8}", "hidden = 1000000000000"},
      Row{"{family: transformer, layers: 1000000000, vocab: 64, hidden: 64, heads: 8}", "layers = 1000000000"},
      Row{sizes + "hidden: 64, heads: 8, parameters: {value: 5, source: x}}", "parameters = 5: with these sizes"},
      Row{sizes + "hidden: 64, heads: 8, parameters: 5}", "parameters.source: is missing"},
      Row{"{family: rnn}", "family = rnn: no such family of models"}, Row{"{layers: 3}", "family: missing"},
      Row{"{family: cnn}", "blocks: lists the residual blocks of each group"},
      Row{"{family: cnn, blocks: [2, -2]}", "blocks = -2"}, Row{"{family: cnn, blocks: 4}", "blocks = 4"},
      Row{"{family: mlp, inputs: 3, hidden: 4, classes: 2}", "layers: is missing"},
      Row{"{use: gpt2-124m, hiden: 3}", "model.hiden = 3: is not a known key. Did you mean hidden?"},
      Row{"{use: gpt2-124m, heads: 7}", "must be a multiple of heads = 7"},
      Row{"{use: models/none.json}", "model.use = models/none.json: there is no such file"},
      Row{"[1, 2]", "must be a name in models/, a path, or a mapping"});
  const std::string text = problems_of(row.text);
  CAPTURE(row.text, text);
  CHECK(contains(text, row.expected));
  CHECK(contains(text, "scenario.yaml:1: "));
}
