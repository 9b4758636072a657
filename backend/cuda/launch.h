// One kernel call as data: which kernel, of which types, on which operands. The same call runs on a GPU (plugin/) and
// on the host (HostDevice): kernels/table.h unpacks it for both.
#pragma once
#include <array>
#include <cstdint>

namespace trainwire::cuda {

// What elements are stored as. Sums are taken in fp32 (fp64 where the elements are fp64: tests on the host).
enum class Type : std::uint8_t { fp32, bf16, fp16, fp64, int32 };

constexpr std::int64_t size_of(Type t) { return t == Type::fp64 ? 8 : t == Type::bf16 || t == Type::fp16 ? 2 : 4; }

// Operands p, sizes n and factors x of each kernel, in this order. "G": stored as `gradient`; "F": fp32 (fp64 if type
// is); all else as `type`. partial: scratch, F. Parameter gradients add up where `accumulate`.
enum class Kernel : std::uint8_t {
  // elements
  add,                 // c, a, b · n
  gelu,                // y, x · n
  gelu_backward,       // dx, dy, x · n
  relu,                // y, x · n
  relu_backward,       // dx, dy, x · n
  swiglu,              // y, x · rows, F
  swiglu_backward,     // dx, dy, x · rows, F
  bias,                // y, x, bias · rows, N
  position,            // y, x, table · B, S, H
  position_gradient,   // dtable G, dy · B, S, H, S_max
  embedding,           // y, tokens, table · rows, V, H, offset
  embedding_gradient,  // dtable G, dy, tokens · rows, V, H, offset; adds to dtable
  rotary_table,        // table F (S, head_dim/2, 2): cosines and sines · S, head_dim · theta
  rotary,              // y, x, table F · B, S, kv_heads, group, head_dim · sign
  convert,             // y of `gradient`, x of `type` · n
  accumulate_loss,     // sum F, loss F · 1
  clear,               // y of `gradient` · n
  // rows
  layer_norm,              // y, statistics F, x, gain, bias · rows, H · epsilon
  layer_norm_backward,     // dx, dy, x, gain, statistics F · rows, H
  rms_norm,                // y, statistics F, x, gain · rows, H · epsilon
  rms_norm_backward,       // dx, dy, x, gain, statistics F · rows, H
  logits_max,              // max F, logits · rows, V
  logits_sum,              // sums F, logits, max F, targets · rows, V, offset
  cross_entropy,           // loss F, max F, sums F · rows · 1/tokens
  cross_entropy_backward,  // dlogits, logits, max F, sums F, targets · rows, V, offset · scale/tokens
  // columns, in chunks of rows: partial (chunks, …, N), then column_finish
  column_sums,      // partial, dy · rows, N, chunks
  layer_norm_sums,  // partial (2 N a chunk: dgain, dbias), dy, x, statistics F · rows, N, chunks
  rms_norm_sums,    // partial, dy, x, statistics F · rows, N, chunks
  column_finish,    // out G, partial · N, chunks, width (elements from chunk to chunk), first
  // attention: kernels/attention.h
  attention,              // o, lse F, qkv · B, S, heads, kv_heads, head_dim, causal, q_rows, k_rows
  attention_dot,          // dot F (B,heads,S), do, o · B, S, heads, head_dim
  attention_backward_q,   // dqkv, do, qkv, lse F, dot F · as attention
  attention_backward_kv,  // dqkv, do, qkv, lse F, dot F · as attention
  // images
  unfold,               // columns, x · B, C, h, w, kernel, stride, padding
  fold,                 // dx, columns · as unfold
  batch_norm,           // y, statistics F, x, gain, bias · B, C, hw · epsilon
  batch_norm_backward,  // dx, dgain G, dbias G, dy, x, gain, statistics F · B, C, hw
  max_pool,             // y, index, x · B, C, h, w, kernel, stride, padding
  max_pool_backward,    // dx, dy, index · as max_pool
  mean_pool,            // y, x · planes, hw
  mean_pool_backward,   // dx, dy · planes, hw
  // updates: parameter of `type`, gradient G, the rest F; master null where the parameter is fp32 itself
  sgd,       // p, master, g · n · rate, decay, 1/scale
  momentum,  // p, master, v, g · n · rate, momentum, weight decay, 1/scale
  adam,      // p, master, m, v, g · n · rate, correction, beta1, beta2, epsilon, coupled, decoupled, 1/scale
};

struct Launch {
  Kernel kernel = Kernel::add;
  Type type = Type::fp32, gradient = Type::fp32;
  bool accumulate = false;
  std::array<void*, 7> p{};
  std::array<std::int64_t, 8> n{};
  std::array<double, 8> x{};
};

}  // namespace trainwire::cuda
