// Every operation of the plan language, forward and backward, at sizes that do not divide by anything convenient.
#include "tests/conformance/bench.h"

namespace trainwire::test {
namespace {

constexpr std::int64_t B = 2, S = 37, H = 52, V = 131;

void embeddings(Bench& b) {
  const BufferId tokens = b.integers({B, S}, V), table = b.real({V, H}), x = b.real({B, S, H}), dy = b.real({B, S, H});
  const BufferId dtable = b.gradient({V, H}), positions = b.real({S + 5, H}), y = b.real({B, S, H});
  b.run(OpKind::embedding, Role::forward, {tokens, table}, {x});
  b.run(OpKind::embedding, Role::backward, {dy, tokens}, {dtable});
  b.run(OpKind::embedding, Role::backward, {dy, tokens}, {dtable}, true);
  const BufferId dpositions = b.gradient({S + 5, H});
  b.run(OpKind::position, Role::forward, {x, positions}, {y});
  b.run(OpKind::position, Role::backward, {dy}, {dpositions});
  b.run(OpKind::position, Role::backward, {dy}, {dpositions}, true);
}

void norms(Bench& b) {
  const BufferId x = b.real({B, S, H}), gain = b.real({H}), bias = b.real({H}), y = b.real({B, S, H});
  const BufferId dy = b.real({B, S, H}), dx = b.real({B, S, H}), dgain = b.gradient({H}), dbias = b.gradient({H});
  const BufferId two = b.statistic({B * S, 2}), one = b.statistic({B * S, 1});
  b.run(OpKind::layer_norm, Role::forward, {x, gain, bias}, {y, two});
  for (const bool accumulate : {false, true})
    b.run(OpKind::layer_norm, Role::backward, {dy, x, gain, two}, {dx, dgain, dbias}, accumulate);
  b.run(OpKind::rms_norm, Role::forward, {x, gain}, {y, one});
  for (const bool accumulate : {false, true})
    b.run(OpKind::rms_norm, Role::backward, {dy, x, gain, one}, {dx, dgain}, accumulate);
}

void products(Bench& b) {
  constexpr std::int64_t N = 40;
  const BufferId x = b.real({B, S, H}), bias = b.real({N}), y = b.real({B, S, N}), dy = b.real({B, S, N});
  const BufferId dx = b.real({B, S, H}), dbias = b.gradient({N});
  for (const bool transposed : {false, true}) {
    const Shape shape = transposed ? Shape{N, H} : Shape{H, N};
    const BufferId weight = b.real(shape), dweight = b.gradient(shape);
    b.attributes.transposed = transposed;
    b.run(OpKind::linear, Role::forward, {x, weight, bias}, {y});
    b.run(OpKind::linear, Role::forward, {x, weight}, {y});
    b.run(OpKind::linear, Role::input_gradient, {dy, weight}, {dx});
    b.run(OpKind::linear, Role::weight_gradient, {dy, x}, {dweight, dbias});
    b.run(OpKind::linear, Role::weight_gradient, {dy, x}, {dweight, dbias}, true);
  }
  b.attributes = {};
  const BufferId z = b.real({B, S, N});
  b.run(OpKind::bias, Role::forward, {y, bias}, {z});
  b.run(OpKind::bias, Role::backward, {dy}, {dbias});
}

void attention(Bench& b, int heads, int kv_heads, int d, std::int64_t sequence, bool causal) {
  const std::int64_t width = kv_heads * (heads / kv_heads + 2) * d;
  b.attributes.heads = heads;
  b.attributes.kv_heads = kv_heads;
  b.attributes.head_dim = d;
  b.attributes.causal = causal;
  const BufferId x = b.real({B, sequence, width}), qkv = b.real({B, sequence, width}),
                 dqkv = b.real({B, sequence, width});
  const BufferId o = b.real({B, sequence, heads * d}), d_o = b.real({B, sequence, heads * d});
  const BufferId lse = b.statistic({B, heads, sequence}), dx = b.real({B, sequence, width});
  b.run(OpKind::rotary, Role::forward, {x}, {qkv});
  b.run(OpKind::attention, Role::forward, {qkv}, {o, lse});
  b.run(OpKind::attention, Role::backward, {d_o, qkv, o, lse}, {dqkv});
  b.run(OpKind::rotary, Role::backward, {dqkv}, {dx});
  b.attributes = {};
}

void activations(Bench& b) {
  const BufferId x = b.real({B, S, H}), y = b.real({B, S, H}), dy = b.real({B, S, H}), dx = b.real({B, S, H});
  for (const OpKind kind : {OpKind::gelu, OpKind::relu}) {
    b.run(kind, Role::forward, {x}, {y});
    b.run(kind, Role::backward, {dy, x}, {dx});
  }
  b.run(OpKind::add, Role::forward, {x, dy}, {y});
  b.run(OpKind::add, Role::sum_gradients, {x, dy}, {y});
  const BufferId pair = b.real({B, S, 2 * H}), dpair = b.real({B, S, 2 * H});
  b.run(OpKind::swiglu, Role::forward, {pair}, {y});
  b.run(OpKind::swiglu, Role::backward, {dy, pair}, {dpair});
}

void loss(Bench& b) {
  b.attributes.tokens = B * S;
  const BufferId logits = b.real({B, S, V}), targets = b.integers({B, S}, V), max = b.statistic({B * S});
  const BufferId sums = b.statistic({B * S, 2}), total = b.statistic({1}), dlogits = b.real({B, S, V});
  b.run(OpKind::logits_max, Role::forward, {logits}, {max});
  b.run(OpKind::logits_sum, Role::forward, {logits, max, targets}, {sums});
  b.run(OpKind::cross_entropy, Role::forward, {logits, max, sums, targets}, {total});
  b.run(OpKind::cross_entropy, Role::backward, {logits, max, sums, targets}, {dlogits});
  b.attributes = {};
}

void images(Bench& b, int kernel, int stride, int padding) {
  constexpr std::int64_t C = 3, O = 5, side = 9;
  const std::int64_t out = (side + 2 * padding - kernel) / stride + 1;
  b.attributes.kernel = kernel;
  b.attributes.stride = stride;
  b.attributes.padding = padding;
  const BufferId x = b.real({B, C, side, side}), weight = b.real({O, C * kernel * kernel}),
                 y = b.real({B, O, out, out});
  const BufferId dy = b.real({B, O, out, out}), dx = b.real({B, C, side, side}),
                 dw = b.gradient({O, C * kernel * kernel});
  b.run(OpKind::conv2d, Role::forward, {x, weight}, {y});
  b.run(OpKind::conv2d, Role::input_gradient, {dy, weight}, {dx});
  for (const bool accumulate : {false, true}) b.run(OpKind::conv2d, Role::weight_gradient, {dy, x}, {dw}, accumulate);
  const BufferId small = b.real({B, C, out, out}), dsmall = b.real({B, C, out, out}),
                 index = b.integers({B, C, out, out}, 1);
  b.run(OpKind::max_pool, Role::forward, {x}, {small, index});
  b.run(OpKind::max_pool, Role::backward, {dsmall, index}, {dx});
  b.attributes = {};
  const BufferId gain = b.real({C}), bias = b.real({C}), normal = b.real({B, C, side, side}), two = b.statistic({C, 2});
  const BufferId dnormal = b.real({B, C, side, side}), dgain = b.gradient({C}), dbias = b.gradient({C});
  const BufferId mean = b.real({B, C}), dmean = b.real({B, C});
  b.run(OpKind::batch_norm, Role::forward, {x, gain, bias}, {normal, two});
  for (const bool accumulate : {false, true})
    b.run(OpKind::batch_norm, Role::backward, {dnormal, x, gain, two}, {dx, dgain, dbias}, accumulate);
  b.run(OpKind::mean_pool, Role::forward, {x}, {mean});
  b.run(OpKind::mean_pool, Role::backward, {dmean}, {dx});
}

void updates(Bench& b, bool masters) {
  const BufferId g = b.gradient({V, H});
  const auto masters_of = [&](BufferId p) {
    if (!masters) return std::vector<BufferId>{};
    const BufferId master = b.state({V, H});
    b.copy(master, p);
    return std::vector<BufferId>{master};
  };
  for (const auto& [kind, states] : {std::pair{OptimizerKind::sgd, 0}, std::pair{OptimizerKind::momentum, 1},
                                     std::pair{OptimizerKind::adam, 2}, std::pair{OptimizerKind::adamw, 2}}) {
    b.optimizer = kind;
    std::vector<BufferId> out{b.real({V, H})};
    for (int s = 0; s < states; ++s) out.push_back(b.state({V, H}));
    b.run(OpKind::optimizer, Role::update, {g}, out, false, masters_of(out[0]));
  }
}

}  // namespace

std::vector<Outcome> run_all(cuda::Device& device, const Precision& precision) {
  Bench b(device, precision, 7);
  embeddings(b);
  norms(b);
  products(b);
  attention(b, 2, 2, 8, 37, true);
  attention(b, 4, 2, 24, 70, true);  // several tiles, grouped queries, a head that needs padding
  attention(b, 2, 1, 16, 33, false);
  activations(b);
  loss(b);
  images(b, 3, 2, 1);
  images(b, 1, 1, 0);
  updates(b, precision.real == DType::bf16 || precision.real == DType::fp16);
  return b.outcomes();
}

}  // namespace trainwire::test
