// Dense transformers: the GPT-2 family (learned positions, LayerNorm, GELU, biases) and the Llama family (rotary
// positions, grouped queries, RMSNorm, SwiGLU), pre-norm. It knows nothing of how they are split.
// Shapes: B sequences, S tokens, H hidden, kv KV heads of g query heads each, d head dimension, F feed-forward, V
// vocabulary.
#include <cmath>
#include <stdexcept>

#include "sim/model/families/families.h"
#include "sim/model/graph_builder.h"

namespace trainwire {
namespace {

// N(0, 0.02); what is added to the residual stream starts smaller by the root of the number of additions.
// Source: Radford et al. 2019, section 2.3.
constexpr double init_std = 0.02;

class TransformerGraph {
 public:
  TransformerGraph(const Transformer& t, const Batch& batch) : t_(t), batch_(batch) {
    if (t.max_sequence > 0 && t.positions == Transformer::Positions::learned && batch.sequence > t.max_sequence)
      throw std::logic_error("expand: sequence longer than the table of positions");
    attributes_.heads = static_cast<std::int32_t>(t.heads);
    attributes_.kv_heads = static_cast<std::int32_t>(t.kv_heads);
    attributes_.head_dim = static_cast<std::int32_t>(t.head_dim);
    attributes_.causal = true;
    attributes_.rotary_theta = t.rotary_theta;
  }

  Graph build() {
    const Shape tokens{batch_.size, batch_.sequence};
    g_.tokens(tokens, DType::int32);
    g_.targets(tokens);
    int x = embed();
    for (int i = 0; i < static_cast<int>(t_.layers); ++i) {
      g_.enter(i + 1);
      x = block("blocks." + std::to_string(i), x, i);
    }
    g_.enter(static_cast<int>(t_.layers) + 1);
    head(x);
    return g_.take();
  }

 private:
  int embed() {
    g_.enter(0);
    const Shape hidden{batch_.size, batch_.sequence, t_.hidden};
    table_ = g_.parameter("embedding.weight", {t_.vocab, t_.hidden}, 0, weight_init(init_std));
    int x = g_.op(OpKind::embedding, "embedding", hidden, {0}, {table_});
    if (t_.positions == Transformer::Positions::learned) {
      const int table = g_.parameter("positions.weight", {t_.max_sequence, t_.hidden}, -1, weight_init(init_std));
      x = g_.op(OpKind::position, "positions", hidden, {x}, {table});
    }
    return x;
  }

  int norm(const std::string& name, int x) {
    const bool centred = t_.norm == Transformer::Norm::layer_norm;
    std::vector<int> parameters{g_.parameter(name + ".weight", {t_.hidden}, -1, constant_init(1))};
    if (centred) parameters.push_back(g_.parameter(name + ".bias", {t_.hidden}, -1, constant_init(0)));
    Attributes attributes;
    attributes.epsilon = t_.epsilon;
    const int y =
        g_.op(centred ? OpKind::layer_norm : OpKind::rms_norm, name, g_.shape(x), {x}, parameters, attributes);
    g_.also(name + ".statistics", {batch_.size * batch_.sequence, centred ? 2 : 1});
    return y;
  }

  int attention(const std::string& name, int x) {
    const std::int64_t group = t_.heads / t_.kv_heads;
    // Columns by KV head: its g query heads, its key, its value (Megatron-LM's layout), so that ranks get whole groups.
    int qkv = g_.linear(name + ".qkv", x, {t_.hidden, t_.kv_heads, (group + 2) * t_.head_dim}, 1, weight_init(init_std),
                        t_.biases || t_.qkv_bias);
    if (t_.qk_norm) {
      const int gain = g_.parameter(name + ".qk_norm.weight", {2, t_.head_dim}, -1, constant_init(1));
      Attributes attributes = attributes_;
      attributes.epsilon = t_.epsilon;
      qkv = g_.op(OpKind::qk_norm, name + ".qk_norm", g_.shape(qkv), {qkv}, {gain}, attributes);
      g_.also(name + ".qk_norm.statistics", {batch_.size, batch_.sequence, t_.kv_heads * (group + 1)});
    }
    if (t_.positions == Transformer::Positions::rotary)
      qkv = g_.op(OpKind::rotary, name + ".rotary", g_.shape(qkv), {qkv}, {}, attributes_);
    const std::int64_t width = t_.heads * t_.head_dim;
    const int o = g_.op(OpKind::attention, name, with_last(g_.shape(x), width), {qkv}, {}, attributes_);
    g_.also(name + ".log_sum_exp", {batch_.size, t_.heads, batch_.sequence});
    return g_.linear(name + ".proj", o, {width, t_.hidden}, 0, residual_init(), t_.biases);
  }

  int gated(const std::string& name, int x, std::int64_t hidden) {
    const int gate_up = g_.linear(name + ".gate_up", x, {t_.hidden, 2, hidden}, 2, weight_init(init_std), t_.biases);
    const int y = g_.op(OpKind::swiglu, name + ".swiglu", with_last(g_.shape(x), hidden), {gate_up});
    return g_.linear(name + ".down", y, {hidden, t_.hidden}, 0, residual_init(), t_.biases);
  }

  int mlp(const std::string& name, int x) {
    const Shape wide = with_last(g_.shape(x), t_.ffn_hidden);
    if (t_.activation == Transformer::Activation::swiglu) return gated(name, x, t_.ffn_hidden);
    const int up = g_.linear(name + ".fc1", x, {t_.hidden, t_.ffn_hidden}, 1, weight_init(init_std), t_.biases);
    const bool gelu = t_.activation == Transformer::Activation::gelu;
    const int y = g_.op(gelu ? OpKind::gelu : OpKind::relu, name + (gelu ? ".gelu" : ".relu"), wide, {up});
    return g_.linear(name + ".fc2", y, {t_.ffn_hidden, t_.hidden}, 0, residual_init(), t_.biases);
  }

  // A router sends a copy of each token to `per_token` of the experts, whose results are added with its weights; a
  // shared expert sees every token.
  int experts(const std::string& name, int x) {
    const auto& e = t_.experts;
    const int count = static_cast<int>(e.count);
    const std::int64_t tokens = batch_.size * batch_.sequence;
    const int logits = g_.linear(name + ".router", x, {t_.hidden, e.count}, -1, weight_init(init_std), false);
    Attributes attributes;
    attributes.top_k = static_cast<std::int32_t>(e.per_token);
    const Shape choices{tokens, e.per_token};
    const int weights = g_.op(OpKind::router, name + ".weights", choices, {logits}, {}, attributes);
    const int chosen = g_.also(name + ".experts", choices, DType::int32);
    const int rows =
        g_.op(OpKind::dispatch, name + ".rows", {tokens * e.per_token, t_.hidden}, {x, chosen}, {}, attributes);
    g_.routed(count);
    const int wide =
        g_.expert_linear(name + ".gate_up", rows, {e.count, t_.hidden, 2, e.hidden}, 3, weight_init(init_std));
    const int active = g_.op(OpKind::swiglu, name + ".swiglu", with_last(g_.shape(wide), e.hidden), {wide});
    g_.routed(count);
    const int narrow = g_.expert_linear(name + ".down", active, {e.count, e.hidden, t_.hidden}, 1, residual_init());
    const int y = g_.op(OpKind::combine, name, g_.shape(x), {narrow, weights, chosen}, {}, attributes);
    if (e.shared_hidden == 0) return y;
    return g_.add(name + ".with_shared", y, gated(name + ".shared", x, e.shared_hidden));
  }

  int block(const std::string& name, int x, std::int64_t index) {
    x = g_.add(name + ".add1", x, attention(name + ".attention", norm(name + ".norm1", x)));
    const int y = norm(name + ".norm2", x);
    const bool sparse = t_.experts.count > 0 && index >= t_.experts.dense_layers;
    return g_.add(name + ".add2", x, sparse ? experts(name + ".moe", y) : mlp(name + ".mlp", y));
  }

  void head(int x) {
    x = norm("norm", x);
    int logits = 0;
    if (t_.tied) {
      Attributes attributes;
      attributes.transposed = true;
      logits = g_.op(OpKind::linear, "head", with_last(g_.shape(x), t_.vocab), {x}, {table_}, attributes);
    } else {
      logits = g_.linear("head", x, {t_.hidden, t_.vocab}, 1, weight_init(init_std), false);
    }
    g_.loss(logits, batch_.step_rows);
  }

  Init residual_init() const { return weight_init(init_std / std::sqrt(2.0 * static_cast<double>(t_.layers))); }

  const Transformer& t_;
  const Batch& batch_;
  Attributes attributes_;
  GraphBuilder g_;
  int table_ = -1;  // the embedding, which a tied head reads again
};

}  // namespace

Graph expand_transformer(const Model& model, const Batch& batch) {
  return TransformerGraph(model.transformer, batch).build();
}

}  // namespace trainwire
