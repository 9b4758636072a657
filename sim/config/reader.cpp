// Reads one mapping key by key with checks.
#include "sim/config/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace trainwire {
namespace {

template <class T>
std::optional<T> parse_number(const std::string& text) {
  T number{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string range_text(std::int64_t min, std::int64_t max) {
  if (max == INT64_MAX)
    return min == 1 ? "must be a positive whole number" : fmt::format("must be a whole number of at least {}", min);
  return fmt::format("must be a whole number from {} to {}", min, max);
}

// What is wrong with this as a whole number in [min, max]; empty: nothing.
std::string integer_problem(const Value& value, std::int64_t min, std::int64_t max, std::int64_t& out) {
  if (value.kind == Value::Kind::scalar && value.quoted) return range_text(min, max) + ", not text in quotes";
  const auto number = value.kind == Value::Kind::scalar ? parse_number<std::int64_t>(value.scalar) : std::nullopt;
  if (!number || *number < min || *number > max) return range_text(min, max);
  out = *number;
  return "";
}

}  // namespace

Reader::Reader(const Value& value, std::string path, Problems& problems)
    : value_(value), path_(std::move(path)), problems_(problems) {
  if (value.kind == Value::Kind::scalar || value.kind == Value::Kind::list) {
    problems_.add({value.where, path_, value.text(), "must be a mapping (key: value)", ""});
  }
}

bool Reader::has(const std::string& key) const { return value_.find(key) != nullptr; }

const Value* Reader::raw(const std::string& key) {
  known_.push_back(key);
  return value_.find(key);
}

Value Reader::map_or_shorthand(const std::string& key, const std::string& shorthand) {
  const Value* value = raw(key);
  if (value == nullptr) return {};
  if (value->kind != Value::Kind::scalar) return *value;
  Value map;
  map.kind = Value::Kind::map;
  map.where = value->where;
  map.fields.emplace_back(shorthand, *value);
  return map;
}

std::string Reader::text(const std::string& key, const std::string& fallback) {
  const Value* value = raw(key);
  if (value == nullptr) return fallback;
  if (value->kind == Value::Kind::scalar) return value->scalar;
  fail(key, "must be a text");
  return fallback;
}

std::string Reader::require_text(const std::string& key) {
  if (!has(key)) {
    known_.push_back(key);
    fail(key, "is missing");
    return "";
  }
  return text(key, "");
}

std::string Reader::choice(const std::string& key, const std::vector<std::string>& allowed,
                           const std::string& fallback) {
  const Value* value = raw(key);
  if (value == nullptr) return fallback;
  if (value->kind == Value::Kind::scalar && std::find(allowed.begin(), allowed.end(), value->scalar) != allowed.end()) {
    return value->scalar;
  }
  const auto near = nearest(value->scalar, allowed);
  fail(key, fmt::format("must be one of {}", fmt::join(allowed, ", ")),
       near.empty() ? "" : fmt::format("Did you mean {}?", fmt::join(near, " or ")));
  return fallback;
}

std::int64_t Reader::integer(const std::string& key, std::int64_t fallback, std::int64_t min, std::int64_t max) {
  const Value* value = raw(key);
  if (value == nullptr) return fallback;
  std::int64_t number = fallback;
  if (const std::string problem = integer_problem(*value, min, max, number); !problem.empty()) fail(key, problem);
  return number;
}

std::int64_t Reader::require_integer(const std::string& key, std::int64_t min, std::int64_t max) {
  if (!has(key)) {
    known_.push_back(key);
    fail(key, "is missing", range_text(min, max).replace(0, 4, "It must"));
    return min;
  }
  return integer(key, min, min, max);
}

double Reader::number(const std::string& key, double fallback, double min, double max) {
  const Value* value = raw(key);
  if (value == nullptr) return fallback;
  const auto number =
      value->kind == Value::Kind::scalar && !value->quoted ? parse_number<double>(value->scalar) : std::nullopt;
  if (number && std::isfinite(*number) && *number >= min && *number <= max) return *number;
  fail(key, std::isfinite(max) && max < 1e300 ? fmt::format("must be a number from {} to {}", min, max)
                                              : fmt::format("must be a number of at least {}", min));
  return fallback;
}

bool Reader::flag(const std::string& key, bool fallback) {
  const Value* value = raw(key);
  if (value == nullptr) return fallback;
  if (value->kind == Value::Kind::scalar && value->scalar == "true") return true;
  if (value->kind == Value::Kind::scalar && value->scalar == "false") return false;
  fail(key, "must be true or false");
  return fallback;
}

template <class Q>
Q Reader::quantity(const std::string& key, Q fallback) {
  const Value* value = raw(key);
  if (value == nullptr) return fallback;
  const auto parsed = value->kind == Value::Kind::scalar ? parse<Q>(value->scalar) : std::nullopt;
  if (parsed && parsed->value > 0) return *parsed;
  const std::string example = fmt::format("Example: {}", unit_example<Q>());
  if (parsed) {
    fail(key, "must be more than zero", example);
  } else if (value->kind == Value::Kind::scalar && parse_number<double>(value->scalar)) {
    fail(key, "has no unit", example);
  } else {
    fail(key, "must be a number with a unit", example);
  }
  return fallback;
}

template <class Q>
Q Reader::require_quantity(const std::string& key) {
  if (!has(key)) {
    known_.push_back(key);
    fail(key, "is missing", fmt::format("Example: {}: {}", key, unit_example<Q>()));
    return Q(1);
  }
  return quantity<Q>(key, Q(1));
}

std::vector<std::string> Reader::texts(const std::string& key) {
  const Value* value = raw(key);
  std::vector<std::string> list;
  if (value == nullptr) return list;
  if (value->kind != Value::Kind::list) {
    fail(key, "must be a list");
    return list;
  }
  for (const Value& item : value->items) {
    if (item.kind == Value::Kind::scalar) {
      list.push_back(item.scalar);
    } else {
      problems_.add({item.where, path(key), item.text(), "must be a text", ""});
    }
  }
  return list;
}

std::vector<std::int64_t> Reader::integers(const std::string& key, std::int64_t min) {
  const Value* value = raw(key);
  std::vector<std::int64_t> list;
  if (value == nullptr) return list;
  if (value->kind != Value::Kind::list) {
    fail(key, "must be a list of whole numbers");
    return list;
  }
  for (const Value& item : value->items) {
    std::int64_t number = min;
    const std::string problem = integer_problem(item, min, INT64_MAX, number);
    if (!problem.empty()) problems_.add({item.where, path(key), item.text(), problem, ""});
    list.push_back(number);
  }
  return list;
}

void Reader::fail(const std::string& key, const std::string& problem, const std::string& fix) {
  const Value* value = value_.find(key);
  problems_.add({where(key), path(key), value == nullptr ? "" : value->text(), problem, fix});
}

std::string Reader::path(const std::string& key) const {
  return path_.empty() ? key : key.empty() ? path_ : path_ + "." + key;
}

Where Reader::where(const std::string& key) const {
  const Value* value = value_.find(key);
  return value == nullptr ? value_.where : value->where;
}

void Reader::finish() {
  for (const auto& [key, field] : value_.fields) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    problems_.add({field.where, path(key), field.text(), "is not a known key", suggestion(key, known_)});
  }
}

#define TRAINWIRE_QUANTITY(Q)                            \
  template Q Reader::quantity<Q>(const std::string&, Q); \
  template Q Reader::require_quantity<Q>(const std::string&);
TRAINWIRE_QUANTITY(Bytes)
TRAINWIRE_QUANTITY(Seconds)
TRAINWIRE_QUANTITY(Flops)
TRAINWIRE_QUANTITY(Bandwidth)
TRAINWIRE_QUANTITY(FlopRate)
#undef TRAINWIRE_QUANTITY

}  // namespace trainwire
