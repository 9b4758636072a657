// Attention over blocks of keys that other ranks have: joined, they give attention over all of them.
#include <random>

#include "backend/cpu/kernels.h"
#include "tests/test.h"

using namespace trainwire;

namespace {

constexpr cpu::AttentionShape whole{2, 8, 4, 2, 3, true};  // B, S, heads, KV heads, d, causal
const std::int64_t d = whole.head_dim, qkv_width = whole.qkv_width(), o_width = whole.heads * d;
const std::int64_t kv_width = 2 * whole.kv_heads * d;
using Values = std::vector<double>;
using Rows = std::vector<std::int64_t>;

Values random_values(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Values v(static_cast<std::size_t>(n));
  for (double& x : v) x = normal(random);
  return v;
}

// Rows `positions` of (B,S,width).
Values take(const Values& from, const Rows& positions, std::int64_t width) {
  Values out;
  for (std::int64_t b = 0; b < whole.B; ++b)
    for (const std::int64_t p : positions) {
      const auto first = from.begin() + (b * whole.S + p) * width;
      out.insert(out.end(), first, first + width);
    }
  return out;
}

Values take_heads(const Values& from, const Rows& positions) {  // (B,heads,S)
  Values out;
  for (std::int64_t row = 0; row < whole.B * whole.heads; ++row)
    for (const std::int64_t p : positions) out.push_back(from[static_cast<std::size_t>(row * whole.S + p)]);
  return out;
}

double difference(const Values& a, const Values& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

// Two members with a part from each end, as in sim/parallel/context.cpp.
const std::vector<Rows> members{{0, 1, 6, 7}, {2, 3, 4, 5}};

struct Reference {
  cpu::Workspace<double> workspace;
  Values qkv = random_values(whole.B * whole.S * qkv_width, 41), d_o = random_values(whole.B * whole.S * o_width, 42);
  Values o = Values(d_o.size()), lse = Values(static_cast<std::size_t>(whole.B * whole.heads * whole.S));
  Values dqkv = Values(qkv.size()), kv = Values(static_cast<std::size_t>(whole.B * whole.S * kv_width)), dkv = kv;

  Reference() {
    cpu::attention_forward(o.data(), lse.data(), qkv.data(), whole, workspace);
    cpu::attention_backward(dqkv.data(), d_o.data(), qkv.data(), o.data(), lse.data(), whole, workspace);
    cpu::keys_values(kv.data(), qkv.data(), whole);
    cpu::keys_values(dkv.data(), dqkv.data(), whole);
  }
};

cpu::AttentionShape share() {
  cpu::AttentionShape s = whole;
  s.S /= 2;
  return s;
}

}  // namespace

TEST_CASE("queries of one member over the keys of all, or block after block, give attention of the whole sequence") {
  Reference r;
  const Rows all{0, 1, 6, 7, 2, 3, 4, 5};
  for (const Rows& mine : members) {
    const Values qkv = take(r.qkv, mine, qkv_width), expected = take(r.o, mine, o_width);
    Values o(expected.size()), lse(take_heads(r.lse, mine).size());
    const Values keys = take(r.kv, all, kv_width);
    cpu::attention_block_forward(o.data(), lse.data(), qkv.data(), keys.data(), share(), {mine, all}, false,
                                 r.workspace);
    CHECK(difference(o, expected) < 1e-12);
    CHECK(difference(lse, take_heads(r.lse, mine)) < 1e-12);
    bool join = false;
    for (const Rows& block : {mine, mine == members[0] ? members[1] : members[0]}) {
      const Values kv = take(r.kv, block, kv_width);
      cpu::attention_block_forward(o.data(), lse.data(), qkv.data(), kv.data(), share(), {mine, block}, join,
                                   r.workspace);
      join = true;
    }
    CHECK(difference(o, expected) < 1e-12);
    CHECK(difference(lse, take_heads(r.lse, mine)) < 1e-12);
  }
}

TEST_CASE("gradients of all members' blocks add up to those of the whole sequence") {
  Reference r;
  std::vector<Values> dkv(2, Values(static_cast<std::size_t>(whole.B * whole.S / 2 * kv_width)));
  for (const Rows& mine : members) {
    const Values qkv = take(r.qkv, mine, qkv_width), o = take(r.o, mine, o_width), d_o = take(r.d_o, mine, o_width);
    const Values lse = take_heads(r.lse, mine);
    Values dqkv(qkv.size());
    for (std::size_t block = 0; block < 2; ++block) {
      const Values kv = take(r.kv, members[block], kv_width);
      cpu::attention_block_backward(dqkv.data(), dkv[block].data(), d_o.data(), qkv.data(), kv.data(), o.data(),
                                    lse.data(), share(), {mine, members[block]}, block > 0, true, r.workspace);
    }
    cpu::keys_values_gradient(dqkv.data(), take(r.dkv, mine, kv_width).data(), share());
    CHECK(difference(dqkv, take(r.dqkv, mine, qkv_width)) < 1e-12);
  }
  for (std::size_t block = 0; block < 2; ++block)
    CHECK(difference(dkv[block], take(r.dkv, members[block], kv_width)) < 1e-12);
}
