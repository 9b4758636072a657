// The mathematics of every operation of sim/ops/ops.h on plain row-major arrays; T is float (runs) or double (gradient
// checks). Gradients of parameters are added to what is there when `accumulate`, else overwrite. Shapes in comments.
#pragma once
#include <cstdint>
#include <vector>

namespace trainwire::cpu {

// Memory that kernels reuse from call to call; one a thread. A pointer is valid until the next call of `scratch`.
template <class T>
class Workspace {
 public:
  // Aligned to 64 bytes: sums are vectorised from the first aligned element, and equal runs shall round alike.
  T* scratch(std::int64_t elements);
  // cos and sin of position · theta^(-2i/d), (S,d): d/2 cosines then d/2 sines; kept while the arguments stay the same.
  const T* rotary_table(std::int64_t S, std::int64_t d, float theta);

 private:
  std::vector<T> scratch_, rotary_;
  std::int64_t rotary_S_ = 0, rotary_d_ = 0;
  float rotary_theta_ = 0;
};

// y (M,N) = x (M,K) · w + bias (N, may be null); w is (K,N), or (N,K) when transposed.
template <class T>
void linear_forward(T* y, const T* x, const T* w, const T* bias, std::int64_t M, std::int64_t N, std::int64_t K,
                    bool transposed);
template <class T>
void linear_input_gradient(T* dx, const T* dy, const T* w, std::int64_t M, std::int64_t N, std::int64_t K,
                           bool transposed);
// dbias may be null.
template <class T>
void linear_weight_gradient(T* dw, T* dbias, const T* dy, const T* x, std::int64_t M, std::int64_t N, std::int64_t K,
                            bool transposed, bool accumulate);
// y (M,N) = x + bias (N)
template <class T>
void bias_forward(T* y, const T* x, const T* bias, std::int64_t M, std::int64_t N);
template <class T>
void bias_gradient(T* dbias, const T* dy, std::int64_t M, std::int64_t N, bool accumulate);

// y (rows,H): row tokens[r] − offset of table (V,H), 0 when that is not a row of this shard.
template <class T>
void embedding_forward(T* y, const std::int32_t* tokens, const T* table, std::int64_t rows, std::int64_t V,
                       std::int64_t H, std::int64_t offset);
template <class T>
void embedding_gradient(T* dtable, const T* dy, const std::int32_t* tokens, std::int64_t rows, std::int64_t V,
                        std::int64_t H, std::int64_t offset, bool accumulate);
// y (B,S,H) = x + table (S_max,H) row positions[s] (null: s); the gradient covers all S_max rows.
template <class T>
void position_forward(T* y, const T* x, const T* table, std::int64_t B, std::int64_t S, std::int64_t H,
                      const std::int64_t* positions = nullptr);
template <class T>
void position_gradient(T* dtable, const T* dy, std::int64_t B, std::int64_t S, std::int64_t H, std::int64_t S_max,
                       bool accumulate, const std::int64_t* positions = nullptr);

// statistics (rows,2): mean and 1/sigma; the variance is over H, not H−1.
template <class T>
void layer_norm_forward(T* y, T* statistics, const T* x, const T* gain, const T* bias, std::int64_t rows,
                        std::int64_t H, float epsilon);
template <class T>
void layer_norm_backward(T* dx, T* dgain, T* dbias, const T* dy, const T* x, const T* gain, const T* statistics,
                         std::int64_t rows, std::int64_t H, bool accumulate);
// statistics (rows): 1/rms
template <class T>
void rms_norm_forward(T* y, T* statistics, const T* x, const T* gain, std::int64_t rows, std::int64_t H, float epsilon);
template <class T>
void rms_norm_backward(T* dx, T* dgain, const T* dy, const T* x, const T* gain, const T* statistics, std::int64_t rows,
                       std::int64_t H, bool accumulate);

// The fused QKV tensor (B,S,kv·(g+2)·d): for each KV head its g query heads, its key, its value.
struct AttentionShape {
  std::int64_t B = 1, S = 1, heads = 1, kv_heads = 1, head_dim = 1;
  bool causal = false;
  std::int64_t group() const { return heads / kv_heads; }
  std::int64_t qkv_width() const { return kv_heads * (group() + 2) * head_dim; }
};
// Every query and key head divided by its RMS and scaled by gain (2,d), one for queries and one for keys; values stay.
// statistics (B·S,kv·(g+1)): 1/rms
template <class T>
void qk_norm_forward(T* y, T* statistics, const T* x, const T* gain, const AttentionShape& shape, float epsilon);
template <class T>
void qk_norm_backward(T* dx, T* dgain, const T* dy, const T* x, const T* gain, const T* statistics,
                      const AttentionShape& shape, bool accumulate);
template <class T>
void rotary(T* y, const T* x, const AttentionShape& shape, float theta, bool inverse, Workspace<T>& workspace,
            const std::int64_t* positions = nullptr);  // of the S tokens; null: 0, 1, 2, …
// o (B,S,heads·d) = softmax(q kᵀ/√d) v; lse (B,heads,S): log of the sum of exp of a row's scaled scores.
template <class T>
void attention_forward(T* o, T* lse, const T* qkv, const AttentionShape& shape, Workspace<T>& workspace);
template <class T>
void attention_backward(T* dqkv, const T* d_o, const T* qkv, const T* o, const T* lse, const AttentionShape& shape,
                        Workspace<T>& workspace);

// Attention of the rank's S tokens over T keys and values (B,T,kv·2·d), of other ranks' tokens too.
struct Positions {
  std::vector<std::int64_t> queries, keys;  // in the whole sequence: with a causal mask a query sees no later key
};
// With `join`, o and lse hold the result for other keys and get the one for all of them.
template <class T>
void attention_block_forward(T* o, T* lse, const T* qkv, const T* kv, const AttentionShape& shape,
                             const Positions& positions, bool join, Workspace<T>& workspace);
// The part of the queries in dqkv, and dkv; o and lse are the final ones. Added to what is there, or overwriting.
template <class T>
void attention_block_backward(T* dqkv, T* dkv, const T* d_o, const T* qkv, const T* kv, const T* o, const T* lse,
                              const AttentionShape& shape, const Positions& positions, bool add_queries, bool add_keys,
                              Workspace<T>& workspace);
template <class T>
void keys_values(T* kv, const T* qkv, const AttentionShape& shape);
template <class T>
void keys_values_gradient(T* dqkv, const T* dkv, const AttentionShape& shape);  // leaves the part of the queries

template <class T>
void gelu_forward(T* y, const T* x, std::int64_t n);
template <class T>
void gelu_backward(T* dx, const T* dy, const T* x, std::int64_t n);
template <class T>
void relu_forward(T* y, const T* x, std::int64_t n);
template <class T>
void relu_backward(T* dx, const T* dy, const T* x, std::int64_t n);
// x (rows,2,F) -> y (rows,F)
template <class T>
void swiglu_forward(T* y, const T* x, std::int64_t rows, std::int64_t F);
template <class T>
void swiglu_backward(T* dx, const T* dy, const T* x, std::int64_t rows, std::int64_t F);
template <class T>
void add(T* c, const T* a, const T* b, std::int64_t n);  // c may be a or b

// Softmax and cross-entropy over a vocabulary that ranks share; V: this rank's shard, from row `offset` on.
template <class T>
void logits_max(T* max, const T* logits, std::int64_t rows, std::int64_t V);
// sums (rows,2): sum of exp(logit − max), and the target's logit or 0
template <class T>
void logits_sum(T* sums, const T* logits, const T* max, const std::int32_t* targets, std::int64_t rows, std::int64_t V,
                std::int64_t offset);
// loss (1): sum over the rows of log-sum-exp − target's logit, divided by `tokens`
template <class T>
void cross_entropy_forward(T* loss, const T* max, const T* sums, std::int64_t rows, std::int64_t tokens);
template <class T>
void cross_entropy_backward(T* dlogits, const T* logits, const T* max, const T* sums, const std::int32_t* targets,
                            std::int64_t rows, std::int64_t V, std::int64_t offset, std::int64_t tokens);

// x (B,C,h,w), weight (O,C·k·k), y (B,O,oh,ow)
struct ConvShape {
  std::int64_t B = 1, C = 1, h = 1, w = 1, O = 1, kernel = 1, stride = 1, padding = 0;
  std::int64_t oh() const { return (h + 2 * padding - kernel) / stride + 1; }
  std::int64_t ow() const { return (w + 2 * padding - kernel) / stride + 1; }
};
template <class T>
void conv2d_forward(T* y, const T* x, const T* weight, const ConvShape& shape, Workspace<T>& workspace);
template <class T>
void conv2d_input_gradient(T* dx, const T* dy, const T* weight, const ConvShape& shape, Workspace<T>& workspace);
template <class T>
void conv2d_weight_gradient(T* dweight, const T* dy, const T* x, const ConvShape& shape, bool accumulate,
                            Workspace<T>& workspace);

// statistics (C,2): mean and 1/sigma over the B·hw values of a channel
template <class T>
void batch_norm_forward(T* y, T* statistics, const T* x, const T* gain, const T* bias, std::int64_t B, std::int64_t C,
                        std::int64_t hw, float epsilon);
template <class T>
void batch_norm_backward(T* dx, T* dgain, T* dbias, const T* dy, const T* x, const T* gain, const T* statistics,
                         std::int64_t B, std::int64_t C, std::int64_t hw, bool accumulate);

// ConvShape::O is not used. index (B,C,oh,ow): position of the maximum in its (h,w) plane
template <class T>
void max_pool_forward(T* y, std::int32_t* index, const T* x, const ConvShape& shape);
template <class T>
void max_pool_backward(T* dx, const T* dy, const std::int32_t* index, const ConvShape& shape);
template <class T>
void mean_pool_forward(T* y, const T* x, std::int64_t planes, std::int64_t hw);
template <class T>
void mean_pool_backward(T* dx, const T* dy, std::int64_t planes, std::int64_t hw);

// One parameter of n elements. `step` counts from 1. Decoupled weight decay as in Loshchilov & Hutter 2019 for adamw,
// added to the gradient for the others.
struct UpdateRule {
  double learning_rate = 1e-3, momentum = 0.9, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false;
  std::int64_t step = 1;
};
template <class T>
void sgd_update(T* p, const T* g, std::int64_t n, const UpdateRule& rule);
template <class T>
void momentum_update(T* p, T* velocity, const T* g, std::int64_t n, const UpdateRule& rule);
template <class T>
void adam_update(T* p, T* m, T* v, const T* g, std::int64_t n, const UpdateRule& rule);

}  // namespace trainwire::cpu
