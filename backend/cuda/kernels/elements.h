// Element by element: bodies that are called once an index. `Map` bodies handle a pack of 16 bytes at a time.
#pragma once
#include "backend/cuda/kernels/types.h"

namespace trainwire::cuda {

// out[i] = f(a[i]) or f(a[i], b[i]); out may be a or b.
template <class T, class F, int inputs>
struct Map {
  T* out;
  const T *a, *b;
  Index n;
  F f;
  TRAINWIRE_BOTH void operator()(Index pack) const {
    const Index at = pack * Pack<T>::size, left = n - at;
    Pack<T> x, y;
    x.load(a + at, left);
    if constexpr (inputs == 2) y.load(b + at, left);
    for (int i = 0; i < Pack<T>::size; ++i) {
      if constexpr (inputs == 2)
        x.value[i] = f(x.value[i], y.value[i]);
      else
        x.value[i] = f(x.value[i]);
    }
    x.store(out + at, left);
  }
  Index count() const { return (n + Pack<T>::size - 1) / Pack<T>::size; }
};

// GELU by tanh as in GPT-2 (Hendrycks & Gimpel 2016): x/2 · (1 + tanh(a · (x + b x³))), a = √(2/π).
template <class A>
struct Gelu {
  static constexpr A a = A(0.7978845608028653558798921198687637369), b = A(0.044715);
  TRAINWIRE_BOTH A operator()(A x) const { return A(0.5) * x * (A(1) + std::tanh(a * (x + b * x * x * x))); }
};
template <class A>
struct GeluBackward {
  TRAINWIRE_BOTH A operator()(A dy, A x) const {
    constexpr A a = Gelu<A>::a, b = Gelu<A>::b;
    const A t = std::tanh(a * (x + b * x * x * x));
    return dy * A(0.5) * (A(1) + t + x * (A(1) - t * t) * a * (A(1) + A(3) * b * x * x));
  }
};
template <class A>
struct Relu {
  TRAINWIRE_BOTH A operator()(A x) const { return x > A(0) ? x : A(0); }
};
template <class A>
struct ReluBackward {
  TRAINWIRE_BOTH A operator()(A dy, A x) const { return x > A(0) ? dy : A(0); }
};
template <class A>
struct Add {
  TRAINWIRE_BOTH A operator()(A x, A y) const { return x + y; }
};

template <class A>
TRAINWIRE_BOTH A sigmoid(A x) {
  return A(1) / (A(1) + exponential(-x));
}

// x (rows,2,F) -> y (rows,F): silu(gate) · value. F need not be a multiple of a pack: packs do not cross rows.
template <class T>
struct Swiglu {
  T* y;
  const T* x;
  Index rows, F;
  Index packs() const { return (F + Pack<T>::size - 1) / Pack<T>::size; }
  TRAINWIRE_BOTH void operator()(Index i) const {
    const Index packs = (F + Pack<T>::size - 1) / Pack<T>::size, row = i / packs, at = i % packs * Pack<T>::size;
    Pack<T> gate, value;
    gate.load(x + row * 2 * F + at, F - at);
    value.load(x + row * 2 * F + F + at, F - at);
    for (int k = 0; k < Pack<T>::size; ++k) value.value[k] = gate.value[k] * sigmoid(gate.value[k]) * value.value[k];
    value.store(y + row * F + at, F - at);
  }
  Index count() const { return rows * packs(); }
};
template <class T>
struct SwigluBackward {
  T* dx;
  const T *dy, *x;
  Index rows, F;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const Index packs = (F + Pack<T>::size - 1) / Pack<T>::size, row = i / packs, at = i % packs * Pack<T>::size;
    using A = Real<T>;
    Pack<T> gate, value, out;
    gate.load(x + row * 2 * F + at, F - at);
    value.load(x + row * 2 * F + F + at, F - at);
    out.load(dy + row * F + at, F - at);
    for (int k = 0; k < Pack<T>::size; ++k) {
      const A g = gate.value[k], s = sigmoid(g), d = out.value[k];
      gate.value[k] = d * value.value[k] * s * (A(1) + g * (A(1) - s));
      value.value[k] = d * g * s;
    }
    gate.store(dx + row * 2 * F + at, F - at);
    value.store(dx + row * 2 * F + F + at, F - at);
  }
  Index count() const { return rows * ((F + Pack<T>::size - 1) / Pack<T>::size); }
};

// y (rows,N) = x + addend (repeating every `period` elements): bias (period N), positions (period S·H).
template <class T>
struct AddRepeating {
  T* y;
  const T *x, *addend;
  Index n, period;
  TRAINWIRE_BOTH void operator()(Index i) const { store(y, i, load(x, i) + load(addend, i % period)); }
  Index count() const { return n; }
};

// dtable (S_max,H) = sum over B of dy (B,S,H); rows from S on are 0.
template <class T, class G>
struct PositionGradient {
  G* dtable;
  const T* dy;
  Index B, S, H, S_max;
  bool accumulate;
  TRAINWIRE_BOTH void operator()(Index i) const {
    Real<T> sum = accumulate ? static_cast<Real<T>>(load(dtable, i)) : Real<T>(0);
    if (i < S * H)
      for (Index b = 0; b < B; ++b) sum += load(dy, b * S * H + i);
    store(dtable, i, sum);
  }
  Index count() const { return S_max * H; }
};

// y (rows,H): row tokens[r] − offset of table (V,H), 0 when that is not a row of this shard.
template <class T>
struct Embedding {
  T* y;
  const std::int32_t* tokens;
  const T* table;
  Index rows, V, H, offset;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const Index packs = (H + Pack<T>::size - 1) / Pack<T>::size, row = i / packs, at = i % packs * Pack<T>::size;
    const Index token = tokens[row] - offset;
    Pack<T> values;
    values.load(table + (token >= 0 && token < V ? token : 0) * H + at, H - at);
    for (int k = 0; k < Pack<T>::size; ++k)
      if (token < 0 || token >= V) values.value[k] = Real<T>(0);
    values.store(y + row * H + at, H - at);
  }
  Index count() const { return rows * ((H + Pack<T>::size - 1) / Pack<T>::size); }
};

// Adds without losing what others add at the same time. The order, and so the rounding, is the device's choice.
template <class G, class A>
TRAINWIRE_BOTH void add_atomically(G* p, A value) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<G, bf16>)
    atomicAdd(reinterpret_cast<__nv_bfloat16*>(p), __float2bfloat16_rn(static_cast<float>(value)));
  else if constexpr (std::is_same_v<G, fp16>)
    atomicAdd(reinterpret_cast<__half*>(p), __float2half_rn(static_cast<float>(value)));
  else
    atomicAdd(p, static_cast<G>(value));
#else
  store(p, 0, static_cast<Real<G>>(load(p, 0)) + static_cast<Real<G>>(value));
#endif
}

template <class T, class G>
struct EmbeddingGradient {
  G* dtable;
  const T* dy;
  const std::int32_t* tokens;
  Index rows, V, H, offset;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const Index token = tokens[i / H] - offset;
    if (token >= 0 && token < V) add_atomically(dtable + token * H + i % H, load(dy, i));
  }
  Index count() const { return rows * H; }
};

template <class From, class To>
struct Convert {
  To* y;
  const From* x;
  Index n;
  TRAINWIRE_BOTH void operator()(Index i) const { store(y, i, static_cast<Real<To>>(load(x, i))); }
  Index count() const { return n; }
};

template <class G>
struct Clear {
  G* y;
  Index n;
  TRAINWIRE_BOTH void operator()(Index i) const { store(y, i, Real<G>(0)); }
  Index count() const { return n; }
};

// Pairs (i, i + d/2) of every q and k head turn by position · theta^(−2i/d): RoFormer (Su et al. 2021) in the
// half-split order of Llama's weights. The angle is taken in fp64, because positions are large; one table serves all
// heads.
template <class A>
struct RotaryTable {
  A* table;  // (S, d/2, 2): cosine, sine
  Index S, head_dim;
  double theta;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const Index half = head_dim / 2, pair = i % half;
    const double angle = static_cast<double>(i / half) *
                         std::pow(theta, -2.0 * static_cast<double>(pair) / static_cast<double>(head_dim));
    table[2 * i] = static_cast<A>(std::cos(angle));
    table[2 * i + 1] = static_cast<A>(std::sin(angle));
  }
  Index count() const { return S * (head_dim / 2); }
};

// One call a pair; v parts are copied. sign −1 turns back.
template <class T>
struct Rotary {
  T* y;
  const T* x;
  const Real<T>* table;
  Index B, S, kv_heads, group, head_dim;
  double sign;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const Index half = head_dim / 2, parts = kv_heads * (group + 2);
    const Index pair = i % half, part = i / half % parts, row = i / (half * parts);
    const Index at = (row * parts + part) * head_dim + pair;
    const Real<T> first = load(x, at), second = load(x, at + half);
    if (part % (group + 2) == group + 1) {
      store(y, at, first);
      store(y, at + half, second);
      return;
    }
    const Index entry = 2 * (row % S * half + pair);
    const Real<T> cosine = table[entry], sine = table[entry + 1] * static_cast<Real<T>>(sign);
    store(y, at, first * cosine - second * sine);
    store(y, at + half, second * cosine + first * sine);
  }
  Index count() const { return B * S * kv_heads * (group + 2) * (head_dim / 2); }
};

}  // namespace trainwire::cuda
