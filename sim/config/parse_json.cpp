// JSON text -> Value, event by event. The library tells no positions, so the characters it takes are counted here.
#include <nlohmann/json.hpp>

#include <cstdio>

#include "sim/config/builder.h"

namespace trainwire {
namespace {

struct Position {
  int line = 1;
  bool newline = false;  // the last character taken ended a line: it may be a number's look-ahead
};

// Walks the text and keeps `position` up to date.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, Position* position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (position_->newline) ++position_->line;
    position_->newline = *at_ == '\n';
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator& o) const { return at_ == o.at_; }
  bool operator!=(const CountingIterator& o) const { return at_ != o.at_; }

 private:
  const char* at_;
  Position* position_;
};

class Events : public nlohmann::json_sax<nlohmann::json> {
 public:
  Events(ValueBuilder& builder, const Position& position) : builder_(builder), position_(position) {}

  bool null() override { return builder_.null(position_.line), true; }
  bool boolean(bool v) override { return plain(v ? "true" : "false"); }
  bool number_integer(number_integer_t v) override { return plain(std::to_string(v)); }
  bool number_unsigned(number_unsigned_t v) override { return plain(std::to_string(v)); }
  bool number_float(number_float_t, const string_t& text) override { return plain(text); }
  bool string(string_t& v) override { return builder_.scalar(v, true, position_.line), true; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return builder_.begin(Value::Kind::map, position_.line), true; }
  bool key(string_t& v) override { return builder_.scalar(v, true, position_.line), true; }
  bool end_object() override { return builder_.end(), true; }
  bool start_array(std::size_t) override { return builder_.begin(Value::Kind::list, position_.line), true; }
  bool end_array() override { return builder_.end(), true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while …": keep what a person
    // needs
    std::string text = e.what();
    int line = position_.line, column = 0;
    const auto place = text.find("at line ");
    if (place == std::string::npos || std::sscanf(text.c_str() + place, "at line %d, column %d", &line, &column) != 2)
      line = position_.line;
    if (const auto colon = text.find(": "); colon != std::string::npos) text = text.substr(colon + 2);
    if (column > 0) text += " (column " + std::to_string(column) + ")";
    throw ParseError(line, "not valid JSON: " + text);
  }

 private:
  bool plain(const std::string& text) { return builder_.scalar(text, false, position_.line), true; }
  ValueBuilder& builder_;
  const Position& position_;
};

// Python's json module writes Infinity and NaN, which JSON does not have, into config.json files: read as null.
std::string without_python_numbers(std::string_view text) {
  std::string result;
  bool quoted = false;
  while (!text.empty()) {
    std::size_t skip = 0;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"})
      if (!quoted && skip == 0 && text.substr(0, word.size()) == word) skip = word.size();
    if (skip > 0) {
      result += "null";
    } else {
      const bool escaped = quoted && text[0] == '\\' && text.size() > 1;
      if (text[0] == '"') quoted = !quoted;
      skip = escaped ? 2 : 1;
      result += text.substr(0, skip);
    }
    text.remove_prefix(skip);
  }
  return result;
}

}  // namespace

Value parse_json(std::string_view original, const std::string& file, Problems& problems) {
  const std::string text = without_python_numbers(original);
  ValueBuilder builder(file, problems);
  Position position;
  Events events(builder, position);
  const CountingIterator begin(text.data(), &position);
  const CountingIterator end(text.data() + text.size(), &position);
  nlohmann::json::sax_parse(begin, end, &events);
  return builder.take();
}

}  // namespace trainwire
