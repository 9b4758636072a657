// Text <-> quantity: one table of units a dimension, the scale being SI base units (bytes, seconds, flops).
#include "sim/units/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>

namespace trainwire {
namespace {

struct Unit {
  std::string_view name;
  double scale;
  bool shown;  // used by to_text, in ascending order
};

constexpr double kibi = 1024.0;
constexpr double bit = 1.0 / 8;

constexpr Unit bytes_units[] = {{"B", 1, true},
                                {"KiB", kibi, true},
                                {"MiB", kibi* kibi, true},
                                {"GiB", kibi* kibi* kibi, true},
                                {"TiB", kibi* kibi* kibi* kibi, true},
                                {"PiB", kibi* kibi* kibi* kibi* kibi, true},
                                {"kB", 1e3, false},
                                {"KB", 1e3, false},
                                {"MB", 1e6, false},
                                {"GB", 1e9, false},
                                {"TB", 1e12, false},
                                {"PB", 1e15, false}};
constexpr Unit seconds_units[] = {{"ns", 1e-9, true},         {"us", 1e-6, true},
                                  {"ms", 1e-3, true},         {"s", 1, true},
                                  {"min", 60, false},         {"\xC2\xB5s", 1e-6, false},  // micro sign
                                  {"\xCE\xBCs", 1e-6, false},                              // Greek mu
                                  {"h", 3600, false}};
constexpr Unit flops_units[] = {{"FLOP", 1, true},      {"kFLOP", 1e3, true},   {"MFLOP", 1e6, true},
                                {"GFLOP", 1e9, true},   {"TFLOP", 1e12, true},  {"PFLOP", 1e15, true},
                                {"EFLOP", 1e18, true},  {"ZFLOP", 1e21, true},  {"FLOPs", 1, false},
                                {"GFLOPs", 1e9, false}, {"TFLOPs", 1e12, false}};
constexpr Unit bandwidth_units[] = {{"B/s", 1, true},
                                    {"kB/s", 1e3, true},
                                    {"MB/s", 1e6, true},
                                    {"GB/s", 1e9, true},
                                    {"TB/s", 1e12, true},
                                    {"PB/s", 1e15, true},
                                    {"KB/s", 1e3, false},
                                    {"KiB/s", kibi, false},
                                    {"MiB/s", kibi* kibi, false},
                                    {"GiB/s", kibi* kibi* kibi, false},
                                    {"TiB/s", kibi* kibi* kibi* kibi, false},
                                    {"b/s", bit, false},
                                    {"kb/s", 1e3 * bit, false},
                                    {"Mb/s", 1e6 * bit, false},
                                    {"Gb/s", 1e9 * bit, false},
                                    {"Tb/s", 1e12 * bit, false},
                                    {"Mbit/s", 1e6 * bit, false},
                                    {"Gbit/s", 1e9 * bit, false},
                                    {"Tbit/s", 1e12 * bit, false},
                                    {"bps", bit, false},
                                    {"kbps", 1e3 * bit, false},
                                    {"Mbps", 1e6 * bit, false},
                                    {"Gbps", 1e9 * bit, false},
                                    {"Tbps", 1e12 * bit, false}};
constexpr Unit flop_rate_units[] = {{"FLOP/s", 1, true},     {"kFLOP/s", 1e3, true},  {"MFLOP/s", 1e6, true},
                                    {"GFLOP/s", 1e9, true},  {"TFLOP/s", 1e12, true}, {"PFLOP/s", 1e15, true},
                                    {"EFLOP/s", 1e18, true}, {"MFLOPS", 1e6, false},  {"GFLOPS", 1e9, false},
                                    {"TFLOPS", 1e12, false}, {"PFLOPS", 1e15, false}, {"EFLOPS", 1e18, false}};

template <class Q>
constexpr std::span<const Unit> units_of();
template <>
constexpr std::span<const Unit> units_of<Bytes>() {
  return bytes_units;
}
template <>
constexpr std::span<const Unit> units_of<Seconds>() {
  return seconds_units;
}
template <>
constexpr std::span<const Unit> units_of<Flops>() {
  return flops_units;
}
template <>
constexpr std::span<const Unit> units_of<Bandwidth>() {
  return bandwidth_units;
}
template <>
constexpr std::span<const Unit> units_of<FlopRate>() {
  return flop_rate_units;
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Zero is said in this unit; "0 ns" would read oddly.
constexpr const Unit* base_unit(std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (unit.scale == 1.0 && unit.shown) return &unit;
  }
  return units.data();
}

// Three significant digits; whole bytes below one KiB have no fraction.
std::string digits(double scaled, bool whole) {
  if (whole && std::floor(scaled) == scaled) return fmt::format("{:.0f}", scaled);
  if (scaled < 9.995) return fmt::format("{:.2f}", scaled);
  if (scaled < 99.95) return fmt::format("{:.1f}", scaled);
  return fmt::format("{:.0f}", scaled);
}

}  // namespace

template <class Q>
std::optional<Q> parse(std::string_view text) {
  text = trim(text);
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  const std::string_view name = trim(text.substr(static_cast<std::size_t>(rest - text.data())));
  if (name.empty()) return number == 0 ? std::optional<Q>(Q(0)) : std::nullopt;
  for (const Unit& unit : units_of<Q>()) {
    if (unit.name == name && std::isfinite(number * unit.scale)) return Q(number * unit.scale);
  }
  return std::nullopt;
}

template <class Q>
std::string to_text(Q quantity) {
  constexpr auto units = units_of<Q>();
  const double size = std::abs(quantity.value);
  if (quantity.value == 0 || !std::isfinite(quantity.value)) {
    return fmt::format("{} {}", quantity.value, base_unit(units)->name);
  }
  const double step = std::is_same_v<Q, Bytes> ? kibi : 1000.0;
  const Unit* best = &units[0];
  for (const Unit& unit : units) {
    // Half a digit below the unit still rounds to 1.00 of it: 999.9 us is 1.00 ms.
    const double rounding = step == kibi ? 1 - 0.5 / kibi : 0.9995;
    if (unit.shown && size >= unit.scale * rounding) best = &unit;
  }
  const std::string number = digits(size / best->scale, std::is_same_v<Q, Bytes> && best->scale == 1.0);
  return fmt::format("{}{} {}", quantity.value < 0 ? "-" : "", number, best->name);
}

template <>
std::string_view unit_example<Bytes>() {
  return "25 MiB";
}
template <>
std::string_view unit_example<Seconds>() {
  return "5 us";
}
template <>
std::string_view unit_example<Flops>() {
  return "2.5 TFLOP";
}
template <>
std::string_view unit_example<Bandwidth>() {
  return "450 GB/s";
}
template <>
std::string_view unit_example<FlopRate>() {
  return "989 TFLOP/s";
}

#define TRAINWIRE_QUANTITY(Q)                           \
  template std::optional<Q> parse<Q>(std::string_view); \
  template std::string to_text<Q>(Q);
TRAINWIRE_QUANTITY(Bytes)
TRAINWIRE_QUANTITY(Seconds)
TRAINWIRE_QUANTITY(Flops)
TRAINWIRE_QUANTITY(Bandwidth)
TRAINWIRE_QUANTITY(FlopRate)
#undef TRAINWIRE_QUANTITY

}  // namespace trainwire
