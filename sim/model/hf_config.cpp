// Hugging Face config.json -> Model. Only what decides shapes and counts is read; other keys are ignored, as people's
// files have many. Architectures whose mathematics we do not have are refused by name.
// Source of keys and defaults: transformers, models/{gpt2,llama,mistral,qwen2,phi3}/configuration_*.py.
#include <fmt/format.h>

#include <algorithm>

#include "sim/model/families/families.h"

namespace trainwire {
namespace {

constexpr TransformerKeys gpt2_keys = {"n_layer", "n_embd",  "n_head",     nullptr,
                                       nullptr,   "n_inner", "vocab_size", "n_positions"};
constexpr TransformerKeys llama_keys = {
    "num_hidden_layers", "hidden_size",       "num_attention_heads", "num_key_value_heads",
    "head_dim",          "intermediate_size", "vocab_size",          "max_position_embeddings"};

void read_gpt2(Reader& reader, Model& model) {
  Transformer& t = model.transformer;
  t.positions = Transformer::Positions::learned;
  t.norm = Transformer::Norm::layer_norm;
  t.biases = true;
  t.epsilon = static_cast<float>(reader.number("layer_norm_epsilon", 1e-5, 0.0, 1.0));
  t.tied = reader.flag("tie_word_embeddings", true);
  const std::vector<std::string> gelus = {"gelu_new", "gelu", "gelu_fast", "gelu_pytorch_tanh", "relu"};
  const std::string activation = reader.choice("activation_function", gelus, "gelu_new");
  t.activation = activation == "relu" ? Transformer::Activation::relu : Transformer::Activation::gelu;
  if (reader.flag("add_cross_attention", false))
    reader.fail("add_cross_attention", "cross attention is not supported", "Decoder-only models are.");
  read_transformer_sizes(reader, gpt2_keys, t);
}

// A window that is on and shorter than the longest sequence: full attention is the same up to the window's length.
void limit_to_window(Reader& reader, Transformer& t, bool on) {
  if (!on || !reader.has("sliding_window")) return;
  const std::int64_t window = reader.integer("sliding_window", 0, 1, max_rows);
  if (window > 0) t.max_sequence = std::min(t.max_sequence, window);
}

void read_llama_like(Reader& reader, Model& model) {
  Transformer& t = model.transformer;
  reader.choice("hidden_act", {"silu", "swish"}, "silu");
  t.epsilon = static_cast<float>(reader.number("rms_norm_eps", 1e-6, 0.0, 1.0));
  t.rotary_theta = static_cast<float>(reader.number("rope_theta", 10000.0, 1.0, 1e12));
  if (const Value* rope = reader.raw("rope_parameters")) {  // where transformers 5 writes it
    Reader inner(*rope, reader.path("rope_parameters"), reader.problems());
    t.rotary_theta = static_cast<float>(inner.number("rope_theta", static_cast<double>(t.rotary_theta), 1.0, 1e12));
  }
  if (reader.number("partial_rotary_factor", 1.0, 0.0, 1.0) < 1.0)
    reader.fail("partial_rotary_factor", "rotating only a part of each head is not supported");
  t.tied = reader.flag("tie_word_embeddings", false);
  t.max_sequence = 2048;  // the default of transformers
  if (!reader.has(llama_keys.ffn_hidden)) reader.fail(llama_keys.ffn_hidden, "is missing");
  read_transformer_sizes(reader, llama_keys, t);
}

void read_llama(Reader& reader, Model& model) {
  read_llama_like(reader, model);
  const bool attention = reader.flag("attention_bias", false), mlp = reader.flag("mlp_bias", false);
  model.transformer.biases = attention && mlp;
  if (attention != mlp)
    reader.fail(attention ? "attention_bias" : "mlp_bias", "biases in only one of attention and MLP are not supported",
                "Set both or neither.");
}

void read_mistral(Reader& reader, Model& model) {
  read_llama_like(reader, model);
  limit_to_window(reader, model.transformer, true);
}

void read_qwen2(Reader& reader, Model& model) {
  read_llama_like(reader, model);
  model.transformer.qkv_bias = true;
  limit_to_window(reader, model.transformer, reader.flag("use_sliding_window", false));
}

// Their router weighs the chosen experts by a softmax over those alone.
void read_mixtral(Reader& reader, Model& model) {
  read_mistral(reader, model);
  auto& e = model.transformer.experts;
  e.count = reader.require_integer("num_local_experts", 1, max_experts);
  e.per_token = reader.integer("num_experts_per_tok", 2, 1, max_experts);
  e.hidden = model.transformer.ffn_hidden;
  check_experts(reader, model.transformer, "num_experts_per_tok", "num_local_experts");
}

void read_qwen3(Reader& reader, Model& model) {
  read_llama_like(reader, model);
  model.transformer.qk_norm = true;
  if (reader.flag("attention_bias", false))
    reader.fail("attention_bias", "biases in attention alone are not supported", "Set it to false.");
  limit_to_window(reader, model.transformer, reader.flag("use_sliding_window", false));
}

// A softmax over all experts, renormalised over the chosen ones, is the softmax over those.
void read_qwen3_moe(Reader& reader, Model& model) {
  read_qwen3(reader, model);
  auto& e = model.transformer.experts;
  e.count = reader.require_integer("num_experts", 1, max_experts);
  e.per_token = reader.integer("num_experts_per_tok", 8, 1, max_experts);
  e.hidden = reader.require_integer("moe_intermediate_size", 1, max_width);
  if (!reader.flag("norm_topk_prob", false))
    reader.fail("norm_topk_prob", "weights of experts that do not add up to one are not supported", "Set it to true.");
  if (reader.integer("decoder_sparse_step", 1, 1, max_layers) != 1)
    reader.fail("decoder_sparse_step", "dense blocks between those with experts are not supported", "Supported: 1.");
  const Value* dense = reader.raw("mlp_only_layers");
  if (dense != nullptr && !dense->items.empty())
    reader.fail("mlp_only_layers", "dense blocks between those with experts are not supported", "Leave it empty.");
  check_experts(reader, model.transformer, "num_experts_per_tok", "num_experts");
}

struct Architecture {
  const char *name, *model_type;
  void (*read)(Reader&, Model&);
  const char* why_not;  // read == nullptr: what of it we lack
};

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> table = {
      {"GPT2LMHeadModel", "gpt2", read_gpt2, ""},
      {"LlamaForCausalLM", "llama", read_llama, ""},
      {"MistralForCausalLM", "mistral", read_mistral, ""},
      {"Qwen2ForCausalLM", "qwen2", read_qwen2, ""},
      {"Phi3ForCausalLM", "phi3", read_mistral, ""},
      {"MixtralForCausalLM", "mixtral", read_mixtral, ""},
      {"Qwen3ForCausalLM", "qwen3", read_qwen3, ""},
      {"Qwen3MoeForCausalLM", "qwen3_moe", read_qwen3_moe, ""},
      {"Gemma2ForCausalLM", "gemma2", nullptr, "it caps logits softly and normalises after each part"},
      {"GemmaForCausalLM", "gemma", nullptr, "it has GeGLU and scales its embeddings"},
      {"BertForMaskedLM", "bert", nullptr, "it is an encoder with post-normalisation"},
      {"T5ForConditionalGeneration", "t5", nullptr, "it is an encoder-decoder"},
      {"BartForConditionalGeneration", "bart", nullptr, "it is an encoder-decoder"},
      {"BloomForCausalLM", "bloom", nullptr, "its positions are ALiBi"},
      {"OPTForCausalLM", "opt", nullptr, "its table of positions is offset by two"},
      {"FalconForCausalLM", "falcon", nullptr, "its attention and MLP run in parallel"},
      {"DeciLMForCausalLM", "nemotron-nas", nullptr, "its blocks differ from each other"},
      {"MiMoForCausalLM", "mimo", nullptr, "it predicts several tokens"},
  };
  return table;
}

std::string supported() {
  std::string text;
  for (const Architecture& a : architectures())
    if (a.read != nullptr) text += (text.empty() ? "" : ", ") + std::string(a.name);
  return "Supported: " + text + ".";
}

// What a config that is not in the table gives away about itself.
std::string reason(const Value& config) {
  for (const char* key : {"num_local_experts", "n_routed_experts", "num_experts", "moe_intermediate_size"})
    if (config.find(key) != nullptr) return "it is a mixture of experts";
  if (config.find("text_config") != nullptr || config.find("vision_config") != nullptr) return "it is multimodal";
  const Value* encoder_decoder = config.find("is_encoder_decoder");
  if (encoder_decoder != nullptr && encoder_decoder->scalar == "true") return "it is an encoder-decoder";
  return "";
}

// `architectures: [Name]`, else `model_type`.
const Architecture* find_architecture(const Value& config, Reader& reader) {
  const Value* list = config.find("architectures");
  const Value* type = config.find("model_type");
  const bool listed = list != nullptr && list->kind == Value::Kind::list && !list->items.empty();
  const bool typed = type != nullptr && type->kind == Value::Kind::scalar;
  if (!listed && !typed) {
    reader.fail("", "neither architectures nor model_type says what model this is", supported());
    return nullptr;
  }
  const std::string name = listed ? list->items[0].scalar : type->scalar;
  for (const Architecture& a : architectures()) {
    if (listed ? name != a.name : name != a.model_type) continue;
    if (a.read != nullptr) return &a;
    reader.fail(listed ? "architectures" : "model_type", fmt::format("{} is not supported yet: {}", name, a.why_not),
                supported());
    return nullptr;
  }
  const std::string why = reason(config);
  reader.fail(listed ? "architectures" : "model_type",
              fmt::format("{} is not supported yet{}{}", name, why.empty() ? "" : ": ", why), supported());
  return nullptr;
}

// null means "the default", as in Python.
Value without_nulls(const Value& value) {
  Value result = value;
  std::erase_if(result.fields, [](const auto& field) { return field.second.kind == Value::Kind::null; });
  return result;
}

}  // namespace

Model read_hf_config(const Value& value, Problems& problems) {
  Model model;
  model.family = "transformer";
  model.where = value.where;
  const Value config = without_nulls(value);
  Reader reader(config, "", problems);
  const Architecture* architecture = find_architecture(config, reader);
  if (architecture == nullptr) return model;
  architecture->read(reader, model);
  model.layers = layer_list("embedding", model.transformer.layers, "head");
  model.source = reader.text("_source", "");  // our own files say where the numbers are from
  if (reader.has("_parameters")) model.published_parameters = reader.require_integer("_parameters", 1);
  return model;
}

}  // namespace trainwire
