// Counter-based random numbers: a value depends on what it is for, not on who draws it or in which order, so that any
// way of sharing out the work sees the same numbers.
#pragma once
#include <cmath>
#include <cstdint>

namespace trainwire {

// The finaliser of SplitMix64 (Steele, Lea & Flood 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <class... Rest>
constexpr std::uint64_t hash(std::uint64_t first, Rest... rest) {
  std::uint64_t h = mix(first);
  ((h = mix(h ^ static_cast<std::uint64_t>(rest))), ...);
  return h;
}

// In [0, 1), from the upper 53 bits.
inline double uniform(std::uint64_t h) { return static_cast<double>(h >> 11) * 0x1.0p-53; }

// Standard normal, by Box & Muller 1958.
inline double normal(std::uint64_t h) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(h)));
  return radius * std::cos(6.283185307179586476925 * uniform(mix(h)));
}

}  // namespace trainwire
