// Kernels of mixtures of experts. Everything else is in backend/cpu/kernels.h. T tokens choose k of E experts each.
#pragma once
#include "backend/cpu/kernels.h"

namespace trainwire::cpu {

// Routed rows (see Routed in sim/plan/plan.h): `parts` of `rows` rows at most, of `width` numbers each.
struct RoutedShape {
  std::int64_t parts = 1, experts = 1, rows = 0, width = 1;
  std::int64_t stride() const { return experts + rows * width; }  // of a part
};

// weights (T,k): softmax over the logits (T,E) of the chosen (T,k), which have the largest keys (T,E); null: logits.
template <class T>
void router_forward(T* weights, std::int32_t* chosen, const T* logits, const T* keys, std::int64_t tokens,
                    std::int64_t experts, std::int64_t k);
template <class T>
void router_backward(T* dlogits, const T* dweights, const T* weights, const std::int32_t* chosen, std::int64_t tokens,
                     std::int64_t experts, std::int64_t k);
// rows = x (T,H) of each choice
template <class T>
void dispatch_forward(T* rows, const T* x, const std::int32_t* chosen, std::int64_t tokens, std::int64_t k,
                      const RoutedShape& shape);
template <class T>
void dispatch_backward(T* dx, const T* drows, const std::int32_t* chosen, std::int64_t tokens, std::int64_t k,
                       const RoutedShape& shape);
// y (T,H): of each token the rows of its experts, weighted
template <class T>
void combine_forward(T* y, const T* rows, const T* weights, const std::int32_t* chosen, std::int64_t tokens,
                     std::int64_t k, const RoutedShape& shape);
template <class T>
void combine_backward(T* drows, T* dweights, const T* dy, const T* rows, const T* weights, const std::int32_t* chosen,
                      std::int64_t tokens, std::int64_t k, const RoutedShape& shape);
// A product an expert: rows of width K · w (E,K,N) -> rows of width N
template <class T>
void expert_linear_forward(T* y, const T* x, const T* w, const RoutedShape& ys, const RoutedShape& xs);
template <class T>
void expert_linear_input_gradient(T* dx, const T* dy, const T* w, const RoutedShape& xs, const RoutedShape& ys);
template <class T>
void expert_linear_weight_gradient(T* dw, const T* dy, const T* x, const RoutedShape& ys, const RoutedShape& xs,
                                   bool accumulate);
template <class T>
void routed_swiglu_forward(T* y, const T* x, const RoutedShape& ys, const RoutedShape& xs);
template <class T>
void routed_swiglu_backward(T* dx, const T* dy, const T* x, const RoutedShape& xs, const RoutedShape& ys);

}  // namespace trainwire::cpu
