// Update rules: SGD, SGD with momentum (as PyTorch: v = µ v + g, p −= lr v), Adam (Kingma & Ba 2015), AdamW.
#include <cmath>

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/matrix.h"

namespace trainwire::cpu {

template <class T>
void sgd_update(T* p, const T* g, Index n, const UpdateRule& rule) {
  Array<T> parameter(p, n);
  const T rate = static_cast<T>(rule.learning_rate), decay = static_cast<T>(rule.learning_rate * rule.weight_decay);
  parameter = parameter * (T(1) - decay) - ConstArray<T>(g, n) * rate;
}

template <class T>
void momentum_update(T* p, T* velocity, const T* g, Index n, const UpdateRule& rule) {
  Array<T> parameter(p, n), v(velocity, n);
  v = v * static_cast<T>(rule.momentum) + ConstArray<T>(g, n) + parameter * static_cast<T>(rule.weight_decay);
  parameter -= v * static_cast<T>(rule.learning_rate);
}

template <class T>
void adam_update(T* p, T* m, T* v, const T* g, Index n, const UpdateRule& rule) {
  Array<T> parameter(p, n), first(m, n), second(v, n);
  const ConstArray<T> gradient(g, n);
  const double steps = static_cast<double>(rule.step);
  const T beta1 = static_cast<T>(rule.beta1), beta2 = static_cast<T>(rule.beta2);
  const T coupled = static_cast<T>(rule.decoupled ? 0 : rule.weight_decay);
  const T decoupled = static_cast<T>(rule.decoupled ? rule.learning_rate * rule.weight_decay : 0);
  const T rate = static_cast<T>(rule.learning_rate / (1 - std::pow(rule.beta1, steps)));
  const T correction = static_cast<T>(1 / std::sqrt(1 - std::pow(rule.beta2, steps)));
  constexpr Index block = 1024;  // one pass over memory for the four arrays
  for (Index at = 0; at < n; at += block) {
    const Index count = std::min(block, n - at);
    auto w = parameter.segment(at, count);
    auto one = first.segment(at, count);
    auto two = second.segment(at, count);
    const auto slope = gradient.segment(at, count) + w * coupled;
    one = one * beta1 + slope * (T(1) - beta1);
    two = two * beta2 + slope.square() * (T(1) - beta2);
    w = w * (T(1) - decoupled) - one * rate / (two.sqrt() * correction + static_cast<T>(rule.epsilon));
  }
}

#define INSTANTIATE(T)                                                       \
  template void sgd_update(T*, const T*, Index, const UpdateRule&);          \
  template void momentum_update(T*, T*, const T*, Index, const UpdateRule&); \
  template void adam_update(T*, T*, T*, const T*, Index, const UpdateRule&);
INSTANTIATE(float)
INSTANTIATE(double)

}  // namespace trainwire::cpu
