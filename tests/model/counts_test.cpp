// Parameter counts against published ones, flops against closed forms.
#include "sim/config/data_dir.h"
#include "tests/model/support.h"
#include "tests/test.h"

using namespace trainwire;

TEST_CASE("parameter counts equal the published ones", "[model]") {
  struct Row {
    const char* name;
    std::int64_t parameters;
  };
  // Language models: parameters of the checkpoints on the Hugging Face hub. Vision: torchvision's num_params.
  // GPT-3: Narayanan et al. 2021, see models/gpt3-175b.yaml.
  const Row row =
      GENERATE(Row{"gpt2-124m", 124'439'808}, Row{"gpt2-1.5b", 1'557'611'200}, Row{"gpt3-175b", 174'615'846'912},
               Row{"llama-2-7b", 6'738'415'616}, Row{"llama-3-8b", 8'030'261'248}, Row{"llama-3-70b", 70'553'706'496},
               Row{"llama-3-405b", 405'853'388'800}, Row{"resnet-18", 11'689'512}, Row{"resnet-50", 25'557'032});
  CAPTURE(row.name);
  const Model model = shipped(row.name);
  CHECK(parameter_count(model) == row.parameters);
  CHECK(model.published_parameters == row.parameters);
  CHECK_FALSE(model.source.empty());
}

TEST_CASE("every model that ships loads by name and says where its sizes come from", "[model]") {
  for (const std::string& name : names_in("models", {".yaml", ".json"})) {
    CAPTURE(name);
    const Model model = shipped(name);
    CHECK(model.name == name);
    CHECK_FALSE(model.source.empty());
    CHECK(parameter_count(model) > 0);
  }
}

TEST_CASE("a GPT's parameters are 12 l h² (1 + 13/12h + (V+s)/12lh) and the final norm's 2h", "[model]") {
  // Narayanan et al. 2021 (arXiv 2104.04473), equation 2, which leaves the final norm out.
  const std::int64_t l = GENERATE(1, 3, 24), h = GENERATE(64, 256), V = GENERATE(100, 512), s = GENERATE(16, 64);
  Problems problems;
  const Model model = load("{family: transformer, layers: " + std::to_string(l) + ", hidden: " + std::to_string(h) +
                               ", heads: 8, vocab: " + std::to_string(V) + ", max_sequence: " + std::to_string(s) +
                               ", positions: learned, norm: layer_norm, activation: gelu, biases: true, tied: true}",
                           problems);
  CHECK(messages(problems) == "");
  CHECK(parameter_count(model) == 12 * l * h * h + 13 * l * h + (V + s) * h + 2 * h);
}

TEST_CASE("a GPT step has 72 B s l h² (1 + s/6h + V/12lh) model flops", "[model]") {
  // Narayanan et al. 2021, equation 3 without the recomputation of the forward pass (96 → 72, 16 → 12).
  const std::string name = GENERATE("gpt2-124m", "gpt3-175b", "gpt-tiny");
  const double B = GENERATE(1, 1536);
  const Model model = shipped(name);
  const Transformer& t = model.transformer;
  const double s = static_cast<double>(t.max_sequence), h = static_cast<double>(t.hidden);
  const double l = static_cast<double>(t.layers), V = static_cast<double>(t.vocab);
  const double expected = 72 * B * s * l * h * h * (1 + s / (6 * h) + V / (12 * l * h));
  CHECK(model_flops(model, t.max_sequence, static_cast<std::int64_t>(B)) == Approx(expected).epsilon(1e-12));
}

TEST_CASE("causal attention counts half in the executed forward pass and in full in model flops", "[model]") {
  const Model model = shipped("llama-3-8b");
  const Transformer& t = model.transformer;
  const double s = 8192;
  // Scores and weighted values: 2 products of 2 s² h flops a layer.
  const double attention = 4 * s * s * static_cast<double>(t.hidden * t.layers);
  CHECK(model_flops(model, 8192, 1) / 3 - forward_flops(model, 8192) == Approx(attention / 2).epsilon(1e-9));
  // Without attention: 2 flops for each weight in a product (all but embedding and norms) and token.
  const std::int64_t products = parameter_count(model) - t.vocab * t.hidden - (2 * t.layers + 1) * t.hidden;
  CHECK(forward_flops(model, 8192) == Approx(2 * s * static_cast<double>(products) + attention / 2).epsilon(1e-12));
}

TEST_CASE("ResNets need the published multiply-adds for an image of 224 pixels", "[model]") {
  // torchvision, ResNet18_Weights and ResNet50_Weights, _ops: 1.814 and 4.089 GFLOPS, a multiply-add counted once.
  CHECK(forward_flops(shipped("resnet-18"), 224) / 2e9 == Approx(1.814).epsilon(1e-3));
  CHECK(forward_flops(shipped("resnet-50"), 224) / 2e9 == Approx(4.089).epsilon(1e-3));
}

TEST_CASE("an MLP has (in+1) h + (layers-1)(h+1) h + (h+1) classes parameters", "[model]") {
  const std::int64_t layers = GENERATE(1, 2, 3, 6);
  Problems problems;
  const Model model =
      load("{family: mlp, inputs: 20, hidden: 32, classes: 10, layers: " + std::to_string(layers) + "}", problems);
  CHECK(messages(problems) == "");
  CHECK(parameter_count(model) == 21 * 32 + (layers - 1) * 33 * 32 + 33 * 10);
}
