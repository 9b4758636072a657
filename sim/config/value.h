// A parsed file as a tree of plain values, each knowing where it was written. YAML and JSON look the same here.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/problems.h"

namespace trainwire {

struct Value {
  enum class Kind { null, scalar, list, map };

  Kind kind = Kind::null;
  std::string scalar;   // the text as written, quotes removed
  bool quoted = false;  // "12" is text, 12 is a number
  std::vector<Value> items;
  std::vector<std::pair<std::string, Value>> fields;  // in file order
  Where where;

  const Value* find(std::string_view key) const;  // nullptr when absent or not a map
  std::string text() const;                       // short form for messages, at most 60 characters
};

// Reads a YAML file, or JSON where the name ends in .json. A key `include: FILE` (or a list of them) at the top is
// replaced by that file's fields, which the including file overrides key by key; a cycle is a problem.
// Refuses YAML over 2 MiB, JSON over 16 MiB, binary files and nesting deeper than 64. Problems are appended; then the value is null.
Value read_file(const std::filesystem::path& file, Problems& problems);
Value read_text(std::string_view text, const std::string& name, Problems& problems);

// "training.sequence=4096": sets or adds the value at the dotted key, placed at file "--set".
void apply_override(Value& root, const std::string& assignment, Problems& problems);

}  // namespace trainwire
