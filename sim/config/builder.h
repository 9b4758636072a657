// Puts a Value together from the events of a parser. What every kind of file has in common is checked here.
#pragma once
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/config/value.h"

namespace trainwire {

// yaml-cpp needs up to 140 bytes of memory and 1 us a byte of text: 2 MiB are read or refused within seconds.
constexpr std::uintmax_t max_yaml_bytes = 2U << 20;
constexpr std::uintmax_t max_json_bytes = 16U << 20;
constexpr std::size_t max_depth = 64;
constexpr std::size_t max_values = 500'000;  // aliases expanded: a short file can stand for billions

// Bad input while the file is being parsed: parsing ends here.
struct ParseError : std::runtime_error {
  ParseError(int at, const std::string& text) : std::runtime_error(text), line(at) {}
  int line;
};

class ValueBuilder {
 public:
  ValueBuilder(std::string file, Problems& problems) : file_(std::move(file)), problems_(problems) {}

  void scalar(std::string text, bool quoted, int line, std::size_t anchor = 0);
  void null(int line, std::size_t anchor = 0);
  void begin(Value::Kind kind, int line, std::size_t anchor = 0);
  void end();
  void alias(std::size_t anchor, int line);
  Value take() { return std::move(root_); }

 private:
  struct Open {
    Value value;
    std::size_t anchor = 0;
    std::string key;  // of a map: read, its value awaited
    int key_line = 0;
    std::unordered_map<std::string, int> lines;  // of a map: where its keys stand
    bool has_key = false;
  };
  void place(Value value, std::size_t anchor, int line);
  bool wants_key() const;

  std::string file_;
  Problems& problems_;
  Value root_;
  std::vector<Open> open_;
  struct Anchored {
    Value value;
    std::size_t count;
  };
  std::map<std::size_t, Anchored> anchors_;
  std::size_t values_ = 0;
};

// Throw ParseError. Text is UTF-8 without NUL.
Value parse_yaml(std::string_view text, const std::string& file, Problems& problems);
Value parse_json(std::string_view text, const std::string& file, Problems& problems);

}  // namespace trainwire
