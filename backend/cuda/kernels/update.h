// Update rules: SGD, SGD with momentum (as PyTorch: v = µ v + g, p −= lr v), Adam (Kingma & Ba 2015), AdamW (Loshchilov
// & Hutter 2019). The master weight, where there is one, is what is updated; the parameter is its rounded copy.
#pragma once
#include "backend/cuda/kernels/types.h"

namespace trainwire::cuda {

template <class T>
struct Weight {
  using A = Real<T>;
  T* p;
  A* master;  // null: the parameter itself
  TRAINWIRE_BOTH A get(Index i) const { return master != nullptr ? master[i] : load(p, i); }
  TRAINWIRE_BOTH void set(Index i, A value) const {
    if (master != nullptr) master[i] = value;
    store(p, i, value);
  }
};

template <class T, class G>
struct Sgd {
  using A = Real<T>;
  Weight<T> weight;
  const G* g;
  Index n;
  double rate, decay, unscale;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const A slope = static_cast<A>(load(g, i)) * static_cast<A>(unscale);
    weight.set(i, weight.get(i) * static_cast<A>(1 - decay) - slope * static_cast<A>(rate));
  }
  Index count() const { return n; }
};

template <class T, class G>
struct Momentum {
  using A = Real<T>;
  Weight<T> weight;
  A* velocity;
  const G* g;
  Index n;
  double rate, momentum, decay, unscale;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const A w = weight.get(i), slope = static_cast<A>(load(g, i)) * static_cast<A>(unscale);
    velocity[i] = velocity[i] * static_cast<A>(momentum) + slope + w * static_cast<A>(decay);
    weight.set(i, w - velocity[i] * static_cast<A>(rate));
  }
  Index count() const { return n; }
};

template <class T, class G>
struct Adam {
  using A = Real<T>;
  Weight<T> weight;
  A *m, *v;
  const G* g;
  Index n;
  double rate, correction, beta1, beta2, epsilon, coupled, decoupled, unscale;
  TRAINWIRE_BOTH void operator()(Index i) const {
    const A w = weight.get(i);
    const A slope = static_cast<A>(load(g, i)) * static_cast<A>(unscale) + w * static_cast<A>(coupled);
    const A first = m[i] * static_cast<A>(beta1) + slope * static_cast<A>(1 - beta1);
    const A second = v[i] * static_cast<A>(beta2) + slope * slope * static_cast<A>(1 - beta2);
    m[i] = first;
    v[i] = second;
    weight.set(i, w * static_cast<A>(1 - decoupled) -
                      first * static_cast<A>(rate) /
                          (std::sqrt(second) * static_cast<A>(correction) + static_cast<A>(epsilon)));
  }
  Index count() const { return n; }
};

}  // namespace trainwire::cuda
