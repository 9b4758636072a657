// Every kernel that is no product, by size: one row of the table a curve.
#include "backend/cpu/kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/calibrate/kernels.h"

namespace trainwire::cpu {
namespace {

constexpr std::int64_t H = 256, V = Pool::vocabulary, S = 128;  // widths of rows: norms and biases, logits, positions

// n: elements of the largest operand that is no parameter (loss forward: rows; optimizer: elements).
struct Row {
  const char* key;
  void (*run)(Pool&, std::int64_t n);
  std::int64_t multiple = H;  // n is a multiple of this
  bool cold = false;          // its operands were last touched a whole step ago: no cache holds them
};

void embedding(Pool& p, std::int64_t n) { embedding_forward(p.take(n), p.tokens(), p.take(V * H), n / H, V, H, 0); }
void embedding_back(Pool& p, std::int64_t n) {
  embedding_gradient(p.take(V * H), p.take(n), p.tokens(), n / H, V, H, 0, true);
}
void position(Pool& p, std::int64_t n) { position_forward(p.take(n), p.take(n), p.take(S * H), n / (S * H), S, H); }
void position_back(Pool& p, std::int64_t n) { position_gradient(p.take(S * H), p.take(n), n / (S * H), S, H, S, true); }
void layer_norm(Pool& p, std::int64_t n) {
  layer_norm_forward(p.take(n), p.take(2 * n / H), p.take(n), p.take(H), p.take(H), n / H, H, 1e-5F);
}
void layer_norm_back(Pool& p, std::int64_t n) {
  layer_norm_backward(p.take(n), p.take(H), p.take(H), p.take(n), p.take(n), p.take(H), p.take(2 * n / H), n / H, H,
                      false);
}
void rms_norm(Pool& p, std::int64_t n) {
  rms_norm_forward(p.take(n), p.take(n / H), p.take(n), p.take(H), n / H, H, 1e-5F);
}
void rms_norm_back(Pool& p, std::int64_t n) {
  rms_norm_backward(p.take(n), p.take(H), p.take(n), p.take(n), p.take(H), p.take(n / H), n / H, H, false);
}
void bias(Pool& p, std::int64_t n) { bias_forward(p.take(n), p.take(n), p.take(H), n / H, H); }
void bias_back(Pool& p, std::int64_t n) { bias_gradient(p.take(H), p.take(n), n / H, H, false); }

constexpr AttentionShape rotary_shape(std::int64_t n) {
  AttentionShape s;
  s.heads = 4, s.kv_heads = 4, s.head_dim = 64, s.S = n / (3 * H);
  return s;
}
template <bool inverse>
void rotate(Pool& p, std::int64_t n) {
  static thread_local Workspace<float> workspace;
  rotary(p.take(n), p.take(n), rotary_shape(n), 10000.0F, inverse, workspace);
}

void gelu(Pool& p, std::int64_t n) { gelu_forward(p.take(n), p.take(n), n); }
void gelu_back(Pool& p, std::int64_t n) { gelu_backward(p.take(n), p.take(n), p.take(n), n); }
void relu(Pool& p, std::int64_t n) { relu_forward(p.take(n), p.take(n), n); }
void relu_back(Pool& p, std::int64_t n) { relu_backward(p.take(n), p.take(n), p.take(n), n); }
void swiglu(Pool& p, std::int64_t n) { swiglu_forward(p.take(n / 2), p.take(n), n / (2 * H), H); }
void swiglu_back(Pool& p, std::int64_t n) { swiglu_backward(p.take(n), p.take(n / 2), p.take(n), n / (2 * H), H); }
void addition(Pool& p, std::int64_t n) { add(p.take(n), p.take(n), p.take(n), n); }
void clear(Pool& p, std::int64_t n) { std::fill_n(p.take(n), n, 0.0F); }

void maximum(Pool& p, std::int64_t n) { logits_max(p.take(n / V), p.take(n), n / V, V); }
void sums(Pool& p, std::int64_t n) { logits_sum(p.take(2 * n / V), p.take(n), p.take(n / V), p.tokens(), n / V, V, 0); }
void loss(Pool& p, std::int64_t n) { cross_entropy_forward(p.take(1), p.take(n), p.take(2 * n), n, n); }
void loss_back(Pool& p, std::int64_t n) {
  cross_entropy_backward(p.take(n), p.take(n), p.take(n / V), p.take(2 * n / V), p.tokens(), n / V, V, 0, n / V);
}

constexpr std::int64_t C = 64;  // channels; planes are square enough for timing: n / C pixels in one row
ConvShape window(std::int64_t n, std::int64_t kernel, std::int64_t stride) {
  ConvShape s;
  s.C = C, s.h = 16, s.w = std::max<std::int64_t>(kernel, n / (C * s.h)), s.kernel = kernel, s.stride = stride;
  s.padding = kernel / 2;
  return s;
}
void batch_norm(Pool& p, std::int64_t n) {
  batch_norm_forward(p.take(n), p.take(2 * C), p.take(n), p.take(C), p.take(C), 1, C, n / C, 1e-5F);
}
void batch_norm_back(Pool& p, std::int64_t n) {
  batch_norm_backward(p.take(n), p.take(C), p.take(C), p.take(n), p.take(n), p.take(C), p.take(2 * C), 1, C, n / C,
                      false);
}
void max_pool(Pool& p, std::int64_t n) {
  static thread_local std::vector<std::int32_t> index;
  const ConvShape s = window(n, 3, 2);
  index.resize(static_cast<std::size_t>(s.C * s.oh() * s.ow()));
  max_pool_forward(p.take(s.C * s.oh() * s.ow()), index.data(), p.take(n), s);
}
void max_pool_back(Pool& p, std::int64_t n) {
  const ConvShape s = window(n, 3, 2);
  static thread_local std::vector<std::int32_t> index;
  index.assign(static_cast<std::size_t>(s.C * s.oh() * s.ow()), 0);
  max_pool_backward(p.take(n), p.take(s.C * s.oh() * s.ow()), index.data(), s);
}
void mean_pool(Pool& p, std::int64_t n) { mean_pool_forward(p.take(n / 64), p.take(n), n / 64, 64); }
void mean_pool_back(Pool& p, std::int64_t n) { mean_pool_backward(p.take(n), p.take(n / 64), n / 64, 64); }

// One output channel: nearly all of the time is the unfolding. n: elements of the unfolded image.
void unfold(Pool& p, std::int64_t n) {
  static thread_local Workspace<float> workspace;
  ConvShape s = window(n / 9, 3, 1);
  conv2d_forward(p.take(s.oh() * s.ow()), p.take(s.C * s.h * s.w), p.take(s.C * 9), s, workspace);
}
void fold(Pool& p, std::int64_t n) {
  static thread_local Workspace<float> workspace;
  ConvShape s = window(n / 9, 3, 1);
  conv2d_input_gradient(p.take(s.C * s.h * s.w), p.take(s.oh() * s.ow()), p.take(s.C * 9), s, workspace);
}

void sgd(Pool& p, std::int64_t n) { sgd_update(p.take(n), p.take(n), n, UpdateRule{}); }
void momentum(Pool& p, std::int64_t n) { momentum_update(p.take(n), p.take(n), p.take(n), n, UpdateRule{}); }
void adam(Pool& p, std::int64_t n) {
  UpdateRule rule;
  rule.weight_decay = 0.01;
  rule.decoupled = true;
  adam_update(p.take(n), p.take(n), p.take(n), p.take(n), n, rule);
}

constexpr std::int64_t cold_elements = 24 << 20;  // 96 MiB of fp32

constexpr Row table[] = {
    {"embedding/forward", embedding},
    {"embedding/backward", embedding_back},
    {"position/forward", position, S* H},
    {"position/backward", position_back, S* H},
    {"clear/backward", clear},
    {"layer_norm/forward", layer_norm},
    {"layer_norm/backward", layer_norm_back},
    {"rms_norm/forward", rms_norm},
    {"rms_norm/backward", rms_norm_back},
    {"bias/forward", bias},
    {"bias/backward", bias_back},
    {"rotary/forward", rotate<false>, 3 * H},
    {"rotary/backward", rotate<true>, 3 * H},
    {"gelu/forward", gelu},
    {"gelu/backward", gelu_back},
    {"relu/forward", relu},
    {"relu/backward", relu_back},
    {"swiglu/forward", swiglu, 2 * H},
    {"swiglu/backward", swiglu_back, 2 * H},
    {"add/forward", addition},
    {"logits_max/forward", maximum, V},
    {"logits_sum/forward", sums, V},
    {"cross_entropy/forward", loss},
    {"cross_entropy/backward", loss_back, V},
    {"batch_norm/forward", batch_norm},
    {"batch_norm/backward", batch_norm_back},
    {"max_pool/forward", max_pool, 16 * C},
    {"max_pool/backward", max_pool_back, 16 * C},
    {"mean_pool/forward", mean_pool},
    {"mean_pool/backward", mean_pool_back},
    {"unfold/forward", unfold, 9 * 16 * C},
    {"fold/backward", fold, 9 * 16 * C},
    {"optimizer-0-states/update", sgd, H, true},
    {"optimizer-1-states/update", momentum, H, true},
    {"optimizer-2-states/update", adam, H, true},
};

}  // namespace

std::map<std::string, Curve> measure_kernels(Pool& pool, bool quick, Spreads& spreads) {
  // The loss takes 2n elements at once: the largest n is half the pool.
  const std::vector<std::int64_t> sizes = quick ? std::vector<std::int64_t>{1 << 14, 1 << 17, 1 << 20}
                                                : std::vector<std::int64_t>{1 << 12, 1 << 15, 1 << 18, 3 << 19};
  const Effort effort = quick ? Effort{0.003, 3} : Effort{0.005, 3};
  std::map<std::string, Curve> curves;
  Pool cold(cold_elements);
  for (const Row& row : table) {
    Curve& curve = curves[row.key];
    for (const std::int64_t size : sizes) {
      const std::int64_t n = std::max<std::int64_t>(1, size / row.multiple) * row.multiple;
      if (!curve.x.empty() && static_cast<double>(n) <= curve.x.back()) continue;
      const Sample sample = measure([&] { row.run(row.cold ? cold : pool, n); }, effort);
      spreads.add(sample);
      curve.x.push_back(static_cast<double>(n));
      curve.y.push_back(sample.seconds);
    }
  }
  return curves;
}

std::map<std::string, Curve> measure_attention(Pool& pool, bool quick, Spreads& spreads) {
  const std::vector<std::int64_t> head_sizes =
      quick ? std::vector<std::int64_t>{32, 64} : std::vector<std::int64_t>{16, 32, 64, 128};
  const std::vector<std::int64_t> sequences =
      quick ? std::vector<std::int64_t>{64, 128, 256} : std::vector<std::int64_t>{32, 64, 128, 256, 512};
  const Effort effort = quick ? Effort{0.003, 3} : Effort{0.005, 3};
  constexpr std::int64_t heads = 4;
  std::map<std::string, Curve> curves;
  Workspace<float> workspace;
  for (const bool causal : {true, false})
    for (const std::int64_t d : head_sizes)
      for (const std::int64_t length : sequences) {
        const AttentionShape s{1, length, heads, heads, d, causal};
        const std::int64_t qkv = length * s.qkv_width(), o = length * heads * d, lse = heads * length;
        const Sample forward =
            measure([&] { attention_forward(pool.take(o), pool.take(lse), pool.take(qkv), s, workspace); }, effort);
        const Sample backward = measure(
            [&] {
              attention_backward(pool.take(qkv), pool.take(o), pool.take(qkv), pool.take(o), pool.take(lse), s,
                                 workspace);
            },
            effort);
        spreads.add(forward);
        spreads.add(backward);
        const std::string key = fmt::format("attention-{}-{}", causal ? "causal" : "full", d);
        for (const auto& [role, sample] : {std::pair{"/forward", forward}, std::pair{"/backward", backward}}) {
          curves[key + role].x.push_back(static_cast<double>(length));
          curves[key + role].y.push_back(sample.seconds / static_cast<double>(heads));
        }
      }
  return curves;
}

}  // namespace trainwire::cpu
