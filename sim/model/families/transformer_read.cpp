// Reads and checks the sizes of a dense transformer.
#include <fmt/format.h>

#include "sim/model/families/families.h"

namespace trainwire {
namespace {

constexpr TransformerKeys our_keys = {"layers",   "hidden",     "heads", "kv_heads",
                                      "head_dim", "ffn_hidden", "vocab", "max_sequence"};

// Forget the sizes that follow from others, so that an override of those carries over.
void forget_derived(Transformer& t) {
  if (t.heads * t.head_dim == t.hidden) t.head_dim = 0;
  if (t.kv_heads == t.heads) t.kv_heads = 0;
  if (t.ffn_hidden == 4 * t.hidden) t.ffn_hidden = 0;
}

void derive(Transformer& t) {
  if (t.head_dim == 0 && t.heads > 0) t.head_dim = t.hidden / t.heads;
  if (t.kv_heads == 0) t.kv_heads = t.heads;
  if (t.ffn_hidden == 0) t.ffn_hidden = 4 * t.hidden;
}

std::int64_t optional_size(Reader& reader, const char* key, std::int64_t current, std::int64_t max) {
  return key == nullptr ? current : reader.integer(key, current, 1, max);
}

void check(Reader& reader, const TransformerKeys& keys, const Transformer& t, bool free_head_dim) {
  if (!free_head_dim && t.heads * t.head_dim != t.hidden)
    reader.fail(keys.hidden, fmt::format("must be a multiple of {} = {}", keys.heads, t.heads),
                keys.head_dim == nullptr ? "" : fmt::format("Or give {}.", keys.head_dim));
  if (t.heads % t.kv_heads != 0)
    reader.fail(keys.kv_heads,
                fmt::format("must divide {} = {}: each KV head serves equally many query heads", keys.heads, t.heads));
  if (t.positions == Transformer::Positions::rotary && t.head_dim % 2 != 0)
    reader.fail(keys.head_dim != nullptr && reader.has(keys.head_dim) ? keys.head_dim : keys.heads,
                fmt::format("rotary positions turn pairs of channels, and a head has {}", t.head_dim),
                "Choose an even head dimension.");
}

}  // namespace

void check_experts(Reader& reader, const Transformer& t, const char* per_token, const char* count) {
  const auto& e = t.experts;
  if (e.per_token > e.count && e.count > 0)
    reader.fail(per_token, fmt::format("is more than there are experts ({} = {})", count, e.count));
  if (t.activation != Transformer::Activation::swiglu)
    reader.fail("", "experts are gated by SiLU (swiglu), and this model is not", "Set activation: swiglu.");
}

void read_transformer_sizes(Reader& reader, const TransformerKeys& keys, Transformer& t) {
  const std::size_t before = reader.problems().all().size();
  forget_derived(t);
  const bool free_head_dim = t.head_dim > 0 || (keys.head_dim != nullptr && reader.has(keys.head_dim));
  t.layers = size_or(reader, keys.layers, t.layers, max_layers);
  t.hidden = size_or(reader, keys.hidden, t.hidden, max_width);
  t.heads = size_or(reader, keys.heads, t.heads, max_heads);
  t.kv_heads = optional_size(reader, keys.kv_heads, t.kv_heads, max_heads);
  t.head_dim = optional_size(reader, keys.head_dim, t.head_dim, max_heads);
  t.ffn_hidden = optional_size(reader, keys.ffn_hidden, t.ffn_hidden, max_width);
  t.vocab = size_or(reader, keys.vocab, t.vocab, max_rows);
  t.max_sequence = t.positions == Transformer::Positions::learned
                       ? size_or(reader, keys.max_sequence, t.max_sequence, max_rows)
                       : reader.integer(keys.max_sequence, t.max_sequence, 1, max_rows);
  derive(t);
  if (reader.problems().all().size() == before) check(reader, keys, t, free_head_dim);
}

// `experts: {count, per_token, hidden, shared_hidden, dense_layers}`
void read_experts(Reader& reader, Transformer& t) {
  const Value* value = reader.raw("experts");
  if (value == nullptr || value->kind == Value::Kind::null) return;
  Reader inner(*value, reader.path("experts"), reader.problems());
  auto& e = t.experts;
  e.count = size_or(inner, "count", e.count, max_experts);
  e.per_token = size_or(inner, "per_token", e.per_token, max_experts);
  e.hidden = size_or(inner, "hidden", e.hidden, max_width);
  e.shared_hidden = inner.integer("shared_hidden", e.shared_hidden, 0, max_width);
  e.dense_layers = inner.integer("dense_layers", e.dense_layers, 0, max_layers);
  check_experts(inner, t, "per_token", "count");
  inner.finish();
}

void read_transformer_fields(Reader& reader, Model& model) {
  using T = Transformer;
  T& t = model.transformer;
  const std::string positions = t.positions == T::Positions::learned ? "learned" : "rotary";
  t.positions = reader.choice("positions", {"learned", "rotary"}, positions) == "learned" ? T::Positions::learned
                                                                                          : T::Positions::rotary;
  const std::string norm = t.norm == T::Norm::layer_norm ? "layer_norm" : "rms_norm";
  t.norm =
      reader.choice("norm", {"layer_norm", "rms_norm"}, norm) == "layer_norm" ? T::Norm::layer_norm : T::Norm::rms_norm;
  const std::vector<std::string> activations = {"gelu", "swiglu", "relu"};  // in the order of the enumeration
  const std::string activation =
      reader.choice("activation", activations, activations[static_cast<std::size_t>(t.activation)]);
  for (std::size_t i = 0; i < activations.size(); ++i)
    if (activations[i] == activation) t.activation = static_cast<T::Activation>(i);
  t.biases = reader.flag("biases", t.biases);
  t.qkv_bias = reader.flag("qkv_bias", t.qkv_bias);
  t.tied = reader.flag("tied", t.tied);
  t.qk_norm = reader.flag("qk_norm", t.qk_norm);
  t.epsilon = static_cast<float>(reader.number("epsilon", static_cast<double>(t.epsilon), 0.0, 1.0));
  t.rotary_theta = static_cast<float>(reader.number("rotary_theta", static_cast<double>(t.rotary_theta), 1.0, 1e12));
  read_transformer_sizes(reader, our_keys, t);
  read_experts(reader, t);
  model.layers = layer_list("embedding", t.layers, "head");
}

Model read_transformer(const Value& value, Problems& problems) {
  Model model;
  model.family = "transformer";
  model.where = value.where;
  Reader reader(value, "", problems);
  read_description(reader, model);
  read_transformer_fields(reader, model);
  reader.finish();
  return model;
}

}  // namespace trainwire
