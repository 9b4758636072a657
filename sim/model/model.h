// A model: its family, its sizes, and its layers with shapes and parameters.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/value.h"
#include "sim/model/graph.h"

namespace trainwire {

struct Transformer {  // GPT-2 and Llama families
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn_hidden = 0, vocab = 0;
  std::int64_t max_sequence = 0;
  enum class Positions { learned, rotary } positions = Positions::rotary;
  enum class Norm { layer_norm, rms_norm } norm = Norm::rms_norm;
  enum class Activation { gelu, swiglu, relu } activation = Activation::swiglu;
  bool biases = false;    // of all linear layers of a block
  bool qkv_bias = false;  // of the QKV product alone (Qwen2); implied by biases
  bool tied = false;      // the output head is the embedding table
  bool qk_norm = false;   // RMS norm of every query and key head (Qwen3)
  float epsilon = 1e-5F;
  float rotary_theta = 10000.0F;
  struct Experts {             // mixture of experts in place of the feed-forward part
    std::int64_t count = 0;    // 0: dense
    std::int64_t per_token = 0, hidden = 0;
    std::int64_t shared_hidden = 0;  // of an expert that sees every token; 0: none
    std::int64_t dense_layers = 0;   // the first blocks keep their feed-forward part
  } experts;
};

// Share of the routed tokens that each expert gets: equal where imbalance is 1 or less, else powers of seeded draws such
// that the busiest expert has `imbalance` times the mean.
std::vector<double> distribution_over_experts(std::int64_t experts, double imbalance, std::int64_t seed);

struct Mlp {  // classifier: in -> hidden × layers -> classes
  std::int64_t inputs = 0, hidden = 0, layers = 0, classes = 0;
};

struct ConvNet {                     // ResNet as in He et al. 2015, torchvision's parameter count
  std::vector<std::int64_t> blocks;  // of the four groups
  bool bottleneck = false;
  std::int64_t channels = 3, width = 64, classes = 1000;
  std::int64_t image = 224;
};

struct Layer {
  std::string name;  // "embedding", "blocks.0", …, "head"
  enum class Kind { first, block, last } kind = Kind::block;
};

struct Model {
  std::string name;
  std::string family;  // a row of the family table: "transformer", "mlp", "cnn"
  Transformer transformer;
  Mlp mlp;
  ConvNet cnn;
  std::vector<Layer> layers;                         // first, blocks, last: where a pipeline may cut
  std::optional<std::int64_t> published_parameters;  // from the file, with its source
  std::string source;                                // where the sizes come from
  Where where;                                       // for messages about the model
  bool vision() const { return family == "cnn"; }    // samples rather than tokens
};

// The shape of one micro-batch.
struct Batch {
  std::int64_t size = 1;       // B sequences or images
  std::int64_t sequence = 0;   // S tokens; vision: image side
  std::int64_t step_rows = 1;  // rows of the loss over the whole step: global_batch · S, or global_batch
};

// The family table: adding a family is one file and one row of families.cpp.
struct Family {
  const char* name;
  Model (*read)(const Value&, Problems&);       // our own model file or mapping; checks and fills layers
  Graph (*expand)(const Model&, const Batch&);  // forward pass of one micro-batch
};
const std::vector<Family>& families();

// A name in `models`, a path to one of our files or to a Hugging Face config.json, or a mapping in place.
Model load_model(const Value& value, const std::filesystem::path& base, Problems& problems);
// A Hugging Face config.json (architectures of the GPT-2 and Llama families). Others: a problem that names them.
Model read_hf_config(const Value&, Problems&);
Graph expand(const Model&, const Batch&);

std::int64_t parameter_count(const Model&);
// Flops of one forward pass of one sequence/image: matrix products and attention, 2 flops a multiply-add;
// causal attention counts half (as executed).
double forward_flops(const Model&, std::int64_t sequence);
// Model flops of one training step as MFU counts them: 3 × forward, attention counted in full as in
// Megatron-LM (Narayanan et al. 2021, eq. 3) and PaLM appendix B.
double model_flops(const Model&, std::int64_t sequence, std::int64_t global_batch);

}  // namespace trainwire
