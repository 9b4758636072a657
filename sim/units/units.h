// Strong types for the quantities that hardware numbers are made of, and their text form.
// A strong type, not a maths library: what is not a meaningful product does not compile.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace trainwire {

// A physical quantity in SI base units: bytes^B · seconds^S · flops^F.
template <int B, int S, int F>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}

  constexpr Quantity operator+(Quantity o) const { return Quantity(value + o.value); }
  constexpr Quantity operator-(Quantity o) const { return Quantity(value - o.value); }
  constexpr Quantity operator*(double k) const { return Quantity(value * k); }
  constexpr Quantity operator/(double k) const { return Quantity(value / k); }
  constexpr double operator/(Quantity o) const { return value / o.value; }
  constexpr Quantity& operator+=(Quantity o) { value += o.value; return *this; }
  constexpr auto operator<=>(const Quantity&) const = default;
};

using Bytes = Quantity<1, 0, 0>;
using Seconds = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;
using Bandwidth = Quantity<1, -1, 0>;  // bytes per second, one direction
using FlopRate = Quantity<0, -1, 1>;   // flops per second

constexpr Seconds operator/(Bytes b, Bandwidth w) { return Seconds(b.value / w.value); }
constexpr Seconds operator/(Flops f, FlopRate r) { return Seconds(f.value / r.value); }

// "450 GB/s", "400 Gb/s", "5 us", "25 MiB", "989.4 TFLOP/s". GB = 10^9, GiB = 2^30; Gb/s and Gbps are bits.
// nullopt: not a number with a unit of this dimension. A bare "0" is accepted, any other bare number is not.
template <class Q>
std::optional<Q> parse(std::string_view text);

// Shortest readable form with three significant digits, e.g. "1.50 GiB", "12.3 ms", "450 GB/s".
template <class Q>
std::string to_text(Q quantity);

// One example of a valid text, for messages: "450 GB/s".
template <class Q>
std::string_view unit_example();

}  // namespace trainwire
