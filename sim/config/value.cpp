// Looking into a parsed file, showing a value in a message, and --set.
#include "sim/config/value.h"

#include <fmt/format.h>

namespace trainwire {
namespace {

constexpr std::size_t max_shown = 60;

void append_text(const Value& value, std::string& out) {
  if (out.size() > max_shown) return;
  bool first = true;
  const auto separate = [&] {
    if (!first) out += ", ";
    first = false;
  };
  switch (value.kind) {
    case Value::Kind::null:
      out += "null";
      break;
    case Value::Kind::scalar:
      out += value.scalar.substr(0, 4 * max_shown);
      break;
    case Value::Kind::list:
      out += '[';
      for (const Value& item : value.items) separate(), append_text(item, out);
      out += ']';
      break;
    case Value::Kind::map:
      out += '{';
      for (const auto& [key, field] : value.fields) {
        separate();
        out += key + ": ";
        append_text(field, out);
      }
      out += '}';
      break;
  }
}

}  // namespace

const Value* Value::find(std::string_view key) const {
  for (const auto& [name, field] : fields) {
    if (name == key) return &field;
  }
  return nullptr;
}

std::string Value::text() const {
  std::string out;
  append_text(*this, out);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  if (out.size() <= max_shown) return out;
  std::size_t length = max_shown - 3;
  while (length > 0 && (static_cast<unsigned char>(out[length]) & 0xC0U) == 0x80U) --length;  // whole UTF-8 characters
  return out.substr(0, length) + "...";
}

void apply_override(Value& root, const std::string& assignment, Problems& problems) {
  const Where where{"--set", 0};
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    problems.add({where, "", "", fmt::format("{} is not key=value", assignment.empty() ? "\"\"" : assignment),
                  "Example: --set training.sequence=4096"});
    return;
  }
  const std::string key = assignment.substr(0, equals);
  const std::string text = assignment.substr(equals + 1);
  Value value = read_text(text, "--set", problems);
  Value* at = &root;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    const std::string part = key.substr(begin, end - begin);
    if (part.empty() || at->kind == Value::Kind::list || at->kind == Value::Kind::scalar) {
      const std::string what =
          part.empty() ? "has an empty part" : fmt::format("{} is not a mapping", key.substr(0, begin - 1));
      problems.add({where, key, text, what, "Example: --set training.sequence=4096"});
      return;
    }
    at->kind = Value::Kind::map;
    Value* field = nullptr;
    for (auto& [name, candidate] : at->fields) {
      if (name == part) field = &candidate;
    }
    if (field == nullptr) {
      at->fields.emplace_back(part, Value{});
      field = &at->fields.back().second;
      field->where = where;
    }
    at = field;
    begin = end + 1;
  }
  *at = std::move(value);
  at->where = where;
}

}  // namespace trainwire
