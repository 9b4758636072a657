// The vocabulary that models, plans, the cost model and the backends share: element types, shapes, kinds of operation.
// Shapes: B sequences or images of a micro-batch, S tokens, H hidden, V vocabulary, C channels.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace trainwire {

enum class DType : std::uint8_t { fp64, fp32, tf32, bf16, fp16, fp8, int32 };
constexpr int dtype_count = 7;
std::string_view to_text(DType);
double bytes_of(DType);  // bytes an element in memory (tf32 is stored as fp32)

// Up to four dimensions, row-major; unused ones are absent.
struct Shape {
  std::array<std::int64_t, 4> dim{};
  int rank = 0;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims);
  std::int64_t operator[](int i) const { return dim[static_cast<std::size_t>(i)]; }
  std::int64_t& operator[](int i) { return dim[static_cast<std::size_t>(i)]; }
  std::int64_t elements() const;  // 1 for a scalar (rank 0)
  bool operator==(const Shape&) const = default;
};
std::string to_text(const Shape&);  // "(2, 128, 768)"

// What an operation computes: the forward definition, x being the first input. Operands are listed activations first,
// then parameters. The same kind with another Role is its derivative.
enum class OpKind : std::uint8_t {
  embedding,      // tokens (B,S), table (V,H) -> (B,S,H); rows outside the rank's vocabulary shard give 0
  position,       // x (B,S,H) + table (S_max,H)
  layer_norm,     // x, gain (H), bias (H) -> y, statistics (rows,2): mean and 1/sigma
  rms_norm,       // x, gain (H) -> y, statistics (rows,1): 1/rms
  linear,         // x (…,K) · weight (K,N) [+ bias (N)] -> (…,N); weight may be stored (K,a,b): N = a·b;
                  // attributes.transposed: the weight is stored (N,K) (tied embeddings)
  bias,           // x (…,N) + bias (N): what a row-parallel linear adds after its all-reduce
  rotary,         // qkv (B,S,kv·(g+2)·d): rotates the q and k parts, half-split pairs as in Llama
  attention,      // qkv (B,S,kv·(g+2)·d) -> o (B,S,heads·d), log-sum-exp (B,heads,S); g = heads/kv query heads a KV head
                  // context parallel: qkv, kv (B,T,kv·2·d) of other ranks' tokens; with attributes.ring_step >= 0 kv is
                  // one member's block, and o and log-sum-exp are joined with those of the blocks before (two inputs more)
  keys_values,    // qkv -> kv (B,S,kv·2·d): for each KV head its key, its value
  qk_norm,        // qkv, gain (2,d) -> qkv with q and k heads normalised (RMS), statistics (B,S,kv·(g+1)): 1/rms (Qwen3)
  router,         // logits (B,S,E) -> weights (B·S,top_k), experts (B·S,top_k, int32): softmax over the top_k largest
  dispatch,       // x (B,S,H), experts -> rows (R,H): a copy a chosen expert, in the order of the experts (Tensor::routed)
  expert_linear,  // rows (R,K) · weight of each row's expert (E,K,N…) -> (R,N)
  combine,        // rows (R,H), weights, experts -> (B,S,H): weighted sum of the rows of each token
  gelu,           // tanh approximation, as GPT-2
  swiglu,         // x (…,2,F) stored as (…,2·F): silu(first) · second -> (…,F)
  relu,
  add,            // x + y
  logits_max,     // logits (rows,V) -> (rows): maximum over the rank's vocabulary shard
  logits_sum,     // logits, max, targets -> (rows,2): sum of exp(logit-max); the target's logit (0 where another rank has it)
  cross_entropy,  // logits, max, sums, targets -> loss (1): sum over the rows of the micro-batch / tokens of the step
  conv2d,         // x (B,C,h,w), weight (O,C·k·k) -> (B,O,h',w'); attributes: kernel, stride, padding
  batch_norm,     // x (B,C,h,w), gain, bias (C) -> y, statistics (C,2): batch mean and 1/sigma
  max_pool,       // attributes: kernel, stride, padding -> y, (index of the maximum, int32)
  mean_pool,      // (B,C,h,w) -> (B,C)
  optimizer,      // update of a list of parameters: reads gradients, changes parameters and states
  squared_norm,   // gradients -> (1): the sum of their squares, each element of the model on one rank of a group only
  clip,           // squared norm (1), gradients: scales these to at most the norm that the scenario allows
  // communication
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  permute,  // to the next member of the group, from the previous one, around
  send,
  recv,
};
constexpr int op_kind_count = static_cast<int>(OpKind::recv) + 1;
std::string_view to_text(OpKind);
// How a collective combines the members' values.
enum class Reduction : std::uint8_t { sum, max };

constexpr bool is_communication(OpKind k) { return k >= OpKind::all_reduce; }
constexpr bool is_point_to_point(OpKind k) { return k == OpKind::send || k == OpKind::recv; }

// Which part of training an operation belongs to.
enum class Role : std::uint8_t {
  forward,
  backward,         // gradients of all inputs and parameters
  input_gradient,   // of a product: dX only
  weight_gradient,  // of a product: dW (and dbias) only; accumulates where Op::accumulate is set
  sum_gradients,    // adds a second contribution to the gradient of a tensor with several consumers
  update,           // optimizer step on one list of parameters
};
std::string_view to_text(Role);

// Numbers that the shapes do not tell. One table a program; operations share entries.
struct Attributes {
  std::int32_t heads = 0, kv_heads = 0, head_dim = 0;  // of the rank's shard
  bool causal = false;
  bool transposed = false;
  std::int32_t kernel = 0, stride = 1, padding = 0;
  float epsilon = 1e-5F;
  float rotary_theta = 10000.0F;
  std::int64_t tokens = 0;  // cross_entropy: rows of the whole step, over all replicas
  std::int32_t top_k = 0;       // router: experts a token
  std::int32_t ring_step = -1;  // attention: over the keys that this many members before have; -1: over all
  // router: where > 0, experts are drawn from distribution_over_experts(E, imbalance, routing_seed)
  float imbalance = 0;
  std::int32_t routing_seed = 0;
  bool operator==(const Attributes&) const = default;
};

}  // namespace trainwire
