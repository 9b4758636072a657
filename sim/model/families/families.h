// What each family's file offers to the family table, and what they share.
#pragma once
#include "sim/config/reader.h"
#include "sim/model/model.h"

namespace trainwire {

Model read_transformer(const Value&, Problems&);
Graph expand_transformer(const Model&, const Batch&);
Model read_mlp(const Value&, Problems&);
Graph expand_mlp(const Model&, const Batch&);
Model read_cnn(const Value&, Problems&);
Graph expand_cnn(const Model&, const Batch&);

// Sizes of one family on top of what the model has already: a fresh model must be given each, an override may be few.
void read_transformer_fields(Reader&, Model&);
void read_mlp_fields(Reader&, Model&);
void read_cnn_fields(Reader&, Model&);

// What a file calls the sizes of a transformer; nullptr: it cannot say.
struct TransformerKeys {
  const char *layers, *hidden, *heads, *kv_heads, *head_dim, *ffn_hidden, *vocab, *max_sequence;
};
// Reads and checks the sizes; those with a default (kv_heads, head_dim, ffn_hidden) follow from the others.
void read_transformer_sizes(Reader&, const TransformerKeys&, Transformer&);
// A token cannot choose more experts than there are; the keys name both numbers.
void check_experts(Reader&, const Transformer&, const char* per_token, const char* count);

// Keys that every model file may have: family, name, source, parameters {value, source}.
void read_description(Reader&, Model&);
// first, blocks.0 … , last
std::vector<Layer> layer_list(const std::string& first, std::int64_t blocks, const std::string& last);
// `current` where it is set, so that an override may leave the key out; else the key is required.
std::int64_t size_or(Reader&, const std::string& key, std::int64_t current, std::int64_t max);

// Sizes may not be larger: far beyond any model, and no product of them overflows.
constexpr std::int64_t max_layers = 10'000;
constexpr std::int64_t max_heads = 4'096;  // also channels of a head
constexpr std::int64_t max_experts = 65'536;
constexpr std::int64_t max_width = 1 << 22;       // hidden sizes
constexpr std::int64_t max_rows = 1'000'000'000;  // of a table: vocabulary, positions, classes

}  // namespace trainwire
