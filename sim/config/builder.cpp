// Puts a Value together from the events of a parser.
#include "sim/config/builder.h"

#include <fmt/format.h>

namespace trainwire {
namespace {

std::size_t count_values(const Value& value) {
  std::size_t count = 1;
  for (const Value& item : value.items) count += count_values(item);
  for (const auto& [key, field] : value.fields) count += count_values(field);
  return count;
}

std::size_t depth_of(const Value& value) {
  std::size_t depth = 0;
  for (const Value& item : value.items) depth = std::max(depth, depth_of(item));
  for (const auto& [key, field] : value.fields) depth = std::max(depth, depth_of(field));
  return depth + 1;
}

}  // namespace

bool ValueBuilder::wants_key() const {
  return !open_.empty() && open_.back().value.kind == Value::Kind::map && !open_.back().has_key;
}

void ValueBuilder::scalar(std::string text, bool quoted, int line, std::size_t anchor) {
  Value value;
  value.kind = Value::Kind::scalar;
  value.scalar = std::move(text);
  value.quoted = quoted;
  place(std::move(value), anchor, line);
}

void ValueBuilder::null(int line, std::size_t anchor) { place(Value{}, anchor, line); }

void ValueBuilder::begin(Value::Kind kind, int line, std::size_t anchor) {
  if (wants_key()) throw ParseError(line, "a key must be a plain word");
  if (open_.size() >= max_depth) throw ParseError(line, fmt::format("nested deeper than {} levels", max_depth));
  Open entry;
  entry.value.kind = kind;
  entry.value.where = {file_, line};
  entry.anchor = anchor;
  open_.push_back(std::move(entry));
}

void ValueBuilder::end() {
  Open closed = std::move(open_.back());
  open_.pop_back();
  const int line = closed.value.where.line;
  place(std::move(closed.value), closed.anchor, line);
}

void ValueBuilder::alias(std::size_t anchor, int line) {
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) throw ParseError(line, "an alias that refers to itself");
  values_ += found->second.count;
  if (values_ > max_values)
    throw ParseError(line, fmt::format("more than {} values once aliases are expanded", max_values));
  if (open_.size() + depth_of(found->second.value) > max_depth) {
    throw ParseError(line, fmt::format("nested deeper than {} levels", max_depth));
  }
  place(found->second.value, 0, line);
}

void ValueBuilder::place(Value value, std::size_t anchor, int line) {
  if (++values_ > max_values) throw ParseError(line, fmt::format("more than {} values", max_values));
  value.where = {file_, line};
  if (anchor != 0) anchors_[anchor] = {value, count_values(value)};
  if (open_.empty()) {
    root_ = std::move(value);
    return;
  }
  Open& parent = open_.back();
  if (parent.value.kind == Value::Kind::list) {
    parent.value.items.push_back(std::move(value));
  } else if (!parent.has_key) {
    if (value.kind != Value::Kind::scalar) throw ParseError(line, "a key must be a plain word");
    parent.key = std::move(value.scalar);
    parent.key_line = line;
    parent.has_key = true;
  } else {
    value.where.line = parent.key_line;  // the line that a person looks for is the key's
    const auto [first, is_new] = parent.lines.emplace(parent.key, parent.key_line);
    if (is_new) {
      parent.value.fields.emplace_back(std::move(parent.key), std::move(value));
    } else {
      problems_.add({value.where, parent.key, value.text(),
                     fmt::format("is given twice, first in line {}", first->second), "Remove one"});
    }
    parent.has_key = false;
  }
}

}  // namespace trainwire
