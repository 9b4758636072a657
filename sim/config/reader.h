// Reads one mapping key by key with checks; keys that nobody asked for are problems ("did you mean …").
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/value.h"
#include "sim/units/units.h"

namespace trainwire {

// Every getter appends a problem and returns the fallback when the value does not fit. Call finish() last.
class Reader {
 public:
  // `value` must outlive the reader; a null value reads as an empty map. `path` is the dotted key of the mapping.
  Reader(const Value& value, std::string path, Problems& problems);

  bool has(const std::string& key) const;
  const Value* raw(const std::string& key);  // marks the key as known; nullptr when absent
  Value map_or_shorthand(const std::string& key, const std::string& shorthand);  // `8` reads as `{shorthand: 8}`

  std::string text(const std::string& key, const std::string& fallback);
  std::string require_text(const std::string& key);
  std::string choice(const std::string& key, const std::vector<std::string>& allowed, const std::string& fallback);
  std::int64_t integer(const std::string& key, std::int64_t fallback, std::int64_t min, std::int64_t max = INT64_MAX);
  std::int64_t require_integer(const std::string& key, std::int64_t min, std::int64_t max = INT64_MAX);
  double number(const std::string& key, double fallback, double min, double max);
  bool flag(const std::string& key, bool fallback);
  // Positive quantity with a unit. Instantiated for the five quantities of units.h.
  template <class Q>
  Q quantity(const std::string& key, Q fallback);
  template <class Q>
  Q require_quantity(const std::string& key);
  std::vector<std::string> texts(const std::string& key);  // a list of scalars; empty when absent
  std::vector<std::int64_t> integers(const std::string& key, std::int64_t min);

  // A problem at this key (or at the mapping itself when the key is absent or empty).
  void fail(const std::string& key, const std::string& problem, const std::string& fix = "");
  std::string path(const std::string& key) const;
  Where where(const std::string& key) const;
  Problems& problems() { return problems_; }
  void finish();  // unknown keys become problems

 private:
  const Value& value_;
  std::string path_;
  Problems& problems_;
  std::vector<std::string> known_;
};

}  // namespace trainwire
