// Element types and the two words that let one function compile for host and device.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backend/cuda/launch.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define TRAINWIRE_BOTH __host__ __device__
#else
#define TRAINWIRE_BOTH
#endif

namespace trainwire::cuda {

using Index = std::int64_t;

TRAINWIRE_BOTH inline std::uint32_t bits_of(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x);
#else
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}
TRAINWIRE_BOTH inline float float_of(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
#endif
}

// The upper half of an fp32, rounded to the nearest, ties to even.
struct bf16 {
  std::uint16_t bits;
  bf16() = default;
  TRAINWIRE_BOTH explicit bf16(float x) {
#ifdef __CUDA_ARCH__
    bits = __bfloat16_as_ushort(__float2bfloat16_rn(x));
#else
    const std::uint32_t b = bits_of(x);
    const bool nan = (b & 0x7fffffffU) > 0x7f800000U;
    bits = static_cast<std::uint16_t>(nan ? 0x7fffU : (b + 0x7fffU + ((b >> 16) & 1U)) >> 16);
#endif
  }
  TRAINWIRE_BOTH explicit operator float() const { return float_of(static_cast<std::uint32_t>(bits) << 16); }
};

// IEEE binary16, rounded to the nearest, ties to even.
struct fp16 {
  std::uint16_t bits;
  fp16() = default;
  TRAINWIRE_BOTH explicit fp16(float x) {
#ifdef __CUDA_ARCH__
    bits = __half_as_ushort(__float2half_rn(x));
#else
    const std::uint32_t b = bits_of(x), sign = (b >> 16) & 0x8000U, magnitude = b & 0x7fffffffU;
    std::uint32_t result;
    if (magnitude > 0x7f800000U) {
      result = 0x7fffU;
    } else if (magnitude >= 0x477ff000U) {  // 65520 and more round to infinity
      result = 0x7c00U;
    } else if (magnitude >= 0x38800000U) {  // normal: 2^-14 and more
      result = ((magnitude - 0x38000000U) + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
    } else {  // subnormal: adding 0.5 leaves the rounded multiple of 2^-24 in the lowest bits
      result = bits_of(float_of(magnitude) + 0.5F) - bits_of(0.5F);
    }
    bits = static_cast<std::uint16_t>(sign | result);
#endif
  }
  TRAINWIRE_BOTH explicit operator float() const {
#ifdef __CUDA_ARCH__
    return __half2float(__ushort_as_half(bits));
#else
    const std::uint32_t sign = (bits & 0x8000U) << 16, magnitude = bits & 0x7fffU;
    if (magnitude >= 0x7c00U) return float_of(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13));
    if (magnitude >= 0x0400U) return float_of(sign | ((magnitude << 13) + 0x38000000U));
    const float x = static_cast<float>(magnitude) * 0x1.0p-24F;
    return sign != 0 ? -x : x;
#endif
  }
};

// What sums of elements of T are taken in.
template <class T>
struct Accumulator {
  using type = float;
};
template <>
struct Accumulator<double> {
  using type = double;
};
template <class T>
using Real = typename Accumulator<T>::type;

template <class T>
TRAINWIRE_BOTH Real<T> load(const T* p, Index i) {
  return static_cast<Real<T>>(p[i]);
}
template <class T, class A>
TRAINWIRE_BOTH void store(T* p, Index i, A value) {
  p[i] = static_cast<T>(static_cast<Real<T>>(value));
}

// 16 bytes of elements, moved at once where memory is aligned and enough is left; else one by one.
template <class T>
struct Pack {
  static constexpr int size = 16 / static_cast<int>(sizeof(T));
  using A = Real<T>;
  A value[size];

  TRAINWIRE_BOTH static bool whole(const void* p, Index left) {
    return left >= size && reinterpret_cast<std::uintptr_t>(p) % 16 == 0;
  }
  TRAINWIRE_BOTH void load(const T* p, Index left) {
    if (whole(p, left)) {
      const Raw raw = *reinterpret_cast<const Raw*>(p);
      for (int i = 0; i < size; ++i) value[i] = static_cast<A>(raw.element[i]);
      return;
    }
    for (int i = 0; i < size; ++i) value[i] = i < left ? static_cast<A>(p[i]) : A(0);
  }
  TRAINWIRE_BOTH void store(T* p, Index left) const {
    if (whole(p, left)) {
      Raw raw;
      for (int i = 0; i < size; ++i) raw.element[i] = static_cast<T>(value[i]);
      *reinterpret_cast<Raw*>(p) = raw;
      return;
    }
    for (int i = 0; i < size; ++i)
      if (i < left) p[i] = static_cast<T>(value[i]);
  }

 private:
  struct alignas(16) Raw {
    T element[size];
  };
};

template <class A>
TRAINWIRE_BOTH A exponential(A x) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<A, float>) return __expf(x);
#endif
  return std::exp(x);
}
template <class A>
TRAINWIRE_BOTH A larger(A a, A b) {
  return a > b ? a : b;
}
template <class A>
TRAINWIRE_BOTH constexpr A lowest() {
  return static_cast<A>(-3.0e38);  // finite: a row without any score stays free of NaN
}

}  // namespace trainwire::cuda
