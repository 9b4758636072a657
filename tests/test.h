// Catch2, version 2 or 3, and what the tests share. Every test includes this and never Catch2 itself.
#pragma once
#include <string>

#if TRAINWIRE_CATCH2 == 2
#include <catch2/catch.hpp>
// Matcher for CHECK_THAT: the text holds this piece.
inline auto contains(const std::string& piece) { return Catch::Matchers::Contains(piece); }
#else
#include <catch2/catch_all.hpp>
using Catch::Approx;
inline auto contains(const std::string& piece) { return Catch::Matchers::ContainsSubstring(piece); }
#endif

// Relative distance of two numbers; 0 when both are 0.
inline double relative_error(double value, double expected) {
  const double scale = value < 0 ? -value : value;
  const double other = expected < 0 ? -expected : expected;
  const double difference = value < expected ? expected - value : value - expected;
  return difference == 0 ? 0 : difference / (scale > other ? scale : other);
}
