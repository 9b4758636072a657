// Fused attention (FlashAttention: Dao et al. 2022), causal or not, with grouped queries, on the fused QKV tensor
// (B,S,kv·(g+2)·d): for each KV head its g query heads, its key, its value. A team works on a tile of query rows
// (forward, dq) or of key rows (dk, dv); tiles live in the team's shared memory. Backward recomputes the probabilities
// from the log-sum-exp and needs no atomics: dq and dk, dv are two kernels.
//
// Beside what rows.h asks of a team: shared(), sync(), multiply() of tiles, and the team split into groups of lanes
// (warps) that share a row: lane(), lanes(), group(), groups(), lane_sum(), lane_maximum().
#pragma once
#include "backend/cuda/kernels/types.h"

namespace trainwire::cuda {

struct AttentionSizes {
  Index B, S, heads, kv_heads, head_dim;
  bool causal;
  Index q_rows, k_rows;  // of a tile: multiples of 16

  TRAINWIRE_BOTH Index group() const { return heads / kv_heads; }
  TRAINWIRE_BOTH Index width() const { return kv_heads * (group() + 2) * head_dim; }
  TRAINWIRE_BOTH Index depth() const { return (head_dim + 15) / 16 * 16; }  // head_dim with padding
  TRAINWIRE_BOTH Index ld_depth() const { return depth() + 8; }             // eight more: fewer bank conflicts
  TRAINWIRE_BOTH Index ld_keys() const { return k_rows + 8; }
  TRAINWIRE_BOTH Index q_tiles() const { return (S + q_rows - 1) / q_rows; }
  TRAINWIRE_BOTH Index k_tiles() const { return (S + k_rows - 1) / k_rows; }
  // First elements of the parts of a row of QKV.
  TRAINWIRE_BOTH Index q_at(Index head) const { return (head / group() * (group() + 2) + head % group()) * head_dim; }
  TRAINWIRE_BOTH Index k_at(Index kv_head) const { return (kv_head * (group() + 2) + group()) * head_dim; }
  TRAINWIRE_BOTH Index v_at(Index kv_head) const { return k_at(kv_head) + head_dim; }
  TRAINWIRE_BOTH bool seen(Index row, Index column) const {
    return row < S && column < S && (!causal || column <= row);
  }
};

// Takes arrays from shared memory one after the other, each aligned to 128 bytes.
class Shared {
 public:
  TRAINWIRE_BOTH explicit Shared(char* memory) : next_(memory) {}
  template <class T>
  TRAINWIRE_BOTH T* take(Index elements) {
    T* p = reinterpret_cast<T*>(next_);
    next_ += (elements * static_cast<Index>(sizeof(T)) + 127) / 128 * 128;
    return p;
  }

 private:
  char* next_;
};

// Bytes of shared memory that a kernel takes for its tiles: of elements of `type` bytes and sums of `sum` bytes.
inline Index attention_bytes(Kernel kernel, const AttentionSizes& s, Index type, Index sum) {
  const auto round = [](Index bytes) { return (bytes + 127) / 128 * 128; };
  const Index q = round(s.q_rows * s.ld_depth() * type), k = round(s.k_rows * s.ld_depth() * type);
  const Index scores = round(s.q_rows * s.ld_keys() * type), sums = round(s.q_rows * s.ld_keys() * sum);
  const Index q_sum = round(s.q_rows * s.ld_depth() * sum), k_sum = round(s.k_rows * s.ld_depth() * sum);
  if (kernel == Kernel::attention) return q + 2 * k + scores + sums + q_sum + 2 * round(s.q_rows * sum);
  if (kernel == Kernel::attention_backward_q) return 2 * q + 2 * k + scores + 2 * sums + q_sum;
  return 2 * q + 2 * k + 2 * scores + 2 * sums + 2 * k_sum;
}

// The largest tiles that fit into a block's shared memory; 16 rows where nothing does (the launch then says so).
inline Index attention_rows(Kernel kernel, AttentionSizes s, Index type, Index sum, Index limit) {
  for (const Index rows : {64, 32, 16}) {
    s.q_rows = s.k_rows = rows;
    if (attention_bytes(kernel, s, type, sum) <= limit) return rows;
  }
  return 16;
}

// tile (rows, ld): rows from `first` on of a matrix of `width` columns, d of them; 0 beyond the last row and column.
template <class T, class Team>
TRAINWIRE_BOTH void load_tile(Team& team, T* tile, const AttentionSizes& s, const T* matrix, Index width, Index first,
                              Index rows) {
  const Index packs = s.depth() / Pack<T>::size;
  for (Index e = team.rank(); e < rows * packs; e += team.size()) {
    const Index row = e / packs, at = e % packs * Pack<T>::size;
    const Index left = first + row < s.S ? s.head_dim - at : 0;
    Pack<T> values;
    values.load(matrix + (left > 0 ? (first + row) * width + at : 0), left > 0 ? left : 0);
    values.store(tile + row * s.ld_depth() + at, Pack<T>::size);
  }
}

template <class A, class Team>
TRAINWIRE_BOTH void clear_tile(Team& team, A* tile, Index elements) {
  for (Index e = team.rank(); e < elements; e += team.size()) tile[e] = A(0);
}

template <class T, class A, class Team>
TRAINWIRE_BOTH void store_tile(Team& team, T* matrix, Index width, const AttentionSizes& s, const A* tile, Index first,
                               Index rows) {
  for (Index e = team.rank(); e < rows * s.head_dim; e += team.size()) {
    const Index row = e / s.head_dim, column = e % s.head_dim;
    if (first + row < s.S) store(matrix, (first + row) * width + column, tile[row * s.ld_depth() + column]);
  }
}

// One product of tiles: C (m,n) [+]= op(A) (m,k) · op(B) (k,n), row-major with rows lda, ldb, ldc apart.
template <class T>
struct TileProduct {
  Real<T>* c;
  const T *a, *b;
  Index m, n, k, lda, ldb, ldc;
  bool transpose_a, transpose_b, accumulate;
};

template <class T, class Team>
TRAINWIRE_BOTH void multiply_plainly(Team& team, const TileProduct<T>& p) {
  for (Index e = team.rank(); e < p.m * p.n; e += team.size()) {
    const Index i = e / p.n, j = e % p.n;
    Real<T> sum = p.accumulate ? p.c[i * p.ldc + j] : Real<T>(0);
    for (Index l = 0; l < p.k; ++l)
      sum += load(p.a, p.transpose_a ? l * p.lda + i : i * p.lda + l) *
             load(p.b, p.transpose_b ? j * p.ldb + l : l * p.ldb + j);
    p.c[i * p.ldc + j] = sum;
  }
}

template <class T>
struct Attention {
  using A = Real<T>;
  T* o;    // (B,S,heads·d)
  A* lse;  // (B,heads,S)
  const T* qkv;
  AttentionSizes s;
  Index blocks() const { return s.B * s.heads * s.q_tiles(); }
  template <class Team>
  TRAINWIRE_BOTH void operator()(Team& team, Index block) const {
    const Index tile = block % s.q_tiles(), head = block / s.q_tiles() % s.heads;
    const Index b = block / (s.q_tiles() * s.heads), kv_head = head / s.group(), first = tile * s.q_rows;
    const T* rows = qkv + b * s.S * s.width();
    const Index ld = s.ld_depth(), lk = s.ld_keys();
    Shared shared(team.shared());
    T* q = shared.take<T>(s.q_rows * ld);
    T* k = shared.take<T>(s.k_rows * ld);
    T* v = shared.take<T>(s.k_rows * ld);
    T* p = shared.take<T>(s.q_rows * lk);
    A* scores = shared.take<A>(s.q_rows * lk);
    A* out = shared.take<A>(s.q_rows * ld);
    A* max = shared.take<A>(s.q_rows);
    A* sum = shared.take<A>(s.q_rows);
    load_tile(team, q, s, rows + s.q_at(head), s.width(), first, s.q_rows);
    clear_tile(team, out, s.q_rows * ld);
    clear_tile(team, sum, s.q_rows);
    for (Index r = team.rank(); r < s.q_rows; r += team.size()) max[r] = lowest<A>();
    const Index end = s.causal && first + s.q_rows < s.S ? first + s.q_rows : s.S;
    for (Index from = 0; from < end; from += s.k_rows) {
      load_tile(team, k, s, rows + s.k_at(kv_head), s.width(), from, s.k_rows);
      load_tile(team, v, s, rows + s.v_at(kv_head), s.width(), from, s.k_rows);
      team.sync();
      team.multiply(TileProduct<T>{scores, q, k, s.q_rows, s.k_rows, s.depth(), ld, ld, lk, false, true, false});
      team.sync();
      for (Index r = team.group(); r < s.q_rows; r += team.groups())
        softmax_row(team, first + r, from, p + r * lk, scores + r * lk, out + r * ld, max + r, sum + r);
      team.sync();
      team.multiply(TileProduct<T>{out, p, v, s.q_rows, s.depth(), s.k_rows, lk, ld, ld, false, false, true});
      team.sync();
    }
    T* o_rows = o + b * s.S * s.heads * s.head_dim + head * s.head_dim;
    for (Index e = team.rank(); e < s.q_rows * s.head_dim; e += team.size()) {
      const Index r = e / s.head_dim, c = e % s.head_dim;
      if (first + r < s.S) store(o_rows, (first + r) * s.heads * s.head_dim + c, out[r * ld + c] / sum[r]);
    }
    for (Index r = team.rank(); r < s.q_rows; r += team.size())
      if (first + r < s.S) lse[(b * s.heads + head) * s.S + first + r] = max[r] + std::log(sum[r]);
  }

 private:
  // The running softmax of one row: probabilities against the maximum so far, what was summed before shrinks.
  template <class Team>
  TRAINWIRE_BOTH void softmax_row(Team& team, Index row, Index from, T* p, const A* scores, A* out, A* max,
                                  A* sum) const {
    const A scale = A(1) / std::sqrt(static_cast<A>(s.head_dim)), before = *max;
    A best = before;
    for (Index c = team.lane(); c < s.k_rows; c += team.lanes())
      if (s.seen(row, from + c)) best = larger(best, scores[c] * scale);
    best = team.lane_maximum(best);
    A total = 0;
    for (Index c = team.lane(); c < s.k_rows; c += team.lanes()) {
      const A value = s.seen(row, from + c) ? exponential(scores[c] * scale - best) : A(0);
      total += value;
      store(p, c, value);
    }
    total = team.lane_sum(total);
    const A shrink = exponential(before - best);
    for (Index c = team.lane(); c < s.depth(); c += team.lanes()) out[c] *= shrink;
    if (team.lane() != 0) return;
    *max = best;
    *sum = *sum * shrink + total;
  }
};

// dot (B,heads,S) = o · do of each row: what softmax's gradient subtracts.
template <class T>
struct AttentionDot {
  using A = Real<T>;
  A* dot;
  const T *d_o, *o;
  Index B, S, heads, head_dim;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const Index s = i % S, head = i / S % heads, b = i / (S * heads);
    const Index at = ((b * S + s) * heads + head) * head_dim;
    A sum = 0;
    for (Index c = 0; c < head_dim; ++c) sum += load(d_o, at + c) * load(o, at + c);
    dot[i] = sum;
  }
  Index count() const { return B * S * heads; }
};

// From scores and d(probabilities): probabilities into p where wanted, d(scores) · scale into ds.
template <class T, class Team>
TRAINWIRE_BOTH void score_gradients(Team& team, const AttentionSizes& s, Index first_row, Index first_column, T* p,
                                    T* ds, const Real<T>* scores, const Real<T>* dp, const Real<T>* lse,
                                    const Real<T>* dot) {
  using A = Real<T>;
  const A scale = A(1) / std::sqrt(static_cast<A>(s.head_dim));
  for (Index e = team.rank(); e < s.q_rows * s.k_rows; e += team.size()) {
    const Index r = e / s.k_rows, c = e % s.k_rows, at = r * s.ld_keys() + c;
    A value = 0, gradient = 0;
    if (s.seen(first_row + r, first_column + c)) {
      value = exponential(scores[at] * scale - lse[first_row + r]);
      gradient = value * (dp[at] - dot[first_row + r]) * scale;
    }
    if (p != nullptr) store(p, at, value);
    store(ds, at, gradient);
  }
}

template <class T>
struct AttentionBackwardQ {
  using A = Real<T>;
  T* dqkv;
  const T *d_o, *qkv;
  const A *lse, *dot;
  AttentionSizes s;
  Index blocks() const { return s.B * s.heads * s.q_tiles(); }
  template <class Team>
  TRAINWIRE_BOTH void operator()(Team& team, Index block) const {
    const Index tile = block % s.q_tiles(), head = block / s.q_tiles() % s.heads;
    const Index b = block / (s.q_tiles() * s.heads), kv_head = head / s.group(), first = tile * s.q_rows;
    const T* rows = qkv + b * s.S * s.width();
    const Index ld = s.ld_depth(), lk = s.ld_keys(), out_width = s.heads * s.head_dim;
    Shared shared(team.shared());
    T* q = shared.take<T>(s.q_rows * ld);
    T* out_gradient = shared.take<T>(s.q_rows * ld);
    T* k = shared.take<T>(s.k_rows * ld);
    T* v = shared.take<T>(s.k_rows * ld);
    T* ds = shared.take<T>(s.q_rows * lk);
    A* scores = shared.take<A>(s.q_rows * lk);
    A* dp = shared.take<A>(s.q_rows * lk);
    A* dq = shared.take<A>(s.q_rows * ld);
    load_tile(team, q, s, rows + s.q_at(head), s.width(), first, s.q_rows);
    load_tile(team, out_gradient, s, d_o + b * s.S * out_width + head * s.head_dim, out_width, first, s.q_rows);
    clear_tile(team, dq, s.q_rows * ld);
    const Index line = (b * s.heads + head) * s.S;
    const Index end = s.causal && first + s.q_rows < s.S ? first + s.q_rows : s.S;
    for (Index from = 0; from < end; from += s.k_rows) {
      load_tile(team, k, s, rows + s.k_at(kv_head), s.width(), from, s.k_rows);
      load_tile(team, v, s, rows + s.v_at(kv_head), s.width(), from, s.k_rows);
      team.sync();
      team.multiply(TileProduct<T>{scores, q, k, s.q_rows, s.k_rows, s.depth(), ld, ld, lk, false, true, false});
      team.multiply(TileProduct<T>{dp, out_gradient, v, s.q_rows, s.k_rows, s.depth(), ld, ld, lk, false, true, false});
      team.sync();
      score_gradients<T>(team, s, first, from, nullptr, ds, scores, dp, lse + line, dot + line);
      team.sync();
      team.multiply(TileProduct<T>{dq, ds, k, s.q_rows, s.depth(), s.k_rows, lk, ld, ld, false, false, true});
      team.sync();
    }
    store_tile(team, dqkv + b * s.S * s.width() + s.q_at(head), s.width(), s, dq, first, s.q_rows);
  }
};

template <class T>
struct AttentionBackwardKv {
  using A = Real<T>;
  T* dqkv;
  const T *d_o, *qkv;
  const A *lse, *dot;
  AttentionSizes s;
  Index blocks() const { return s.B * s.kv_heads * s.k_tiles(); }
  template <class Team>
  TRAINWIRE_BOTH void operator()(Team& team, Index block) const {
    const Index tile = block % s.k_tiles(), kv_head = block / s.k_tiles() % s.kv_heads;
    const Index b = block / (s.k_tiles() * s.kv_heads), first = tile * s.k_rows;
    const T* rows = qkv + b * s.S * s.width();
    const Index ld = s.ld_depth(), lk = s.ld_keys(), out_width = s.heads * s.head_dim;
    Shared shared(team.shared());
    T* k = shared.take<T>(s.k_rows * ld);
    T* v = shared.take<T>(s.k_rows * ld);
    T* q = shared.take<T>(s.q_rows * ld);
    T* out_gradient = shared.take<T>(s.q_rows * ld);
    T* p = shared.take<T>(s.q_rows * lk);
    T* ds = shared.take<T>(s.q_rows * lk);
    A* scores = shared.take<A>(s.q_rows * lk);
    A* dp = shared.take<A>(s.q_rows * lk);
    A* dk = shared.take<A>(s.k_rows * ld);
    A* dv = shared.take<A>(s.k_rows * ld);
    load_tile(team, k, s, rows + s.k_at(kv_head), s.width(), first, s.k_rows);
    load_tile(team, v, s, rows + s.v_at(kv_head), s.width(), first, s.k_rows);
    clear_tile(team, dk, s.k_rows * ld);
    clear_tile(team, dv, s.k_rows * ld);
    const Index start = s.causal ? first / s.q_rows * s.q_rows : 0;  // rows before see none of these keys
    for (Index head = kv_head * s.group(); head < (kv_head + 1) * s.group(); ++head) {
      const Index line = (b * s.heads + head) * s.S;
      for (Index from = start; from < s.S; from += s.q_rows) {
        load_tile(team, q, s, rows + s.q_at(head), s.width(), from, s.q_rows);
        load_tile(team, out_gradient, s, d_o + b * s.S * out_width + head * s.head_dim, out_width, from, s.q_rows);
        team.sync();
        team.multiply(TileProduct<T>{scores, q, k, s.q_rows, s.k_rows, s.depth(), ld, ld, lk, false, true, false});
        team.multiply(
            TileProduct<T>{dp, out_gradient, v, s.q_rows, s.k_rows, s.depth(), ld, ld, lk, false, true, false});
        team.sync();
        score_gradients<T>(team, s, from, first, p, ds, scores, dp, lse + line, dot + line);
        team.sync();
        team.multiply(
            TileProduct<T>{dv, p, out_gradient, s.k_rows, s.depth(), s.q_rows, lk, ld, ld, true, false, true});
        team.multiply(TileProduct<T>{dk, ds, q, s.k_rows, s.depth(), s.q_rows, lk, ld, ld, true, false, true});
        team.sync();
      }
    }
    T* out = dqkv + b * s.S * s.width();
    store_tile(team, out + s.k_at(kv_head), s.width(), s, dk, first, s.k_rows);
    store_tile(team, out + s.v_at(kv_head), s.width(), s, dv, first, s.k_rows);
  }
};

}  // namespace trainwire::cuda
