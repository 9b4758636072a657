// YAML text -> Value, event by event: limits hold while the text is read, not after.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

#include "sim/config/builder.h"

namespace trainwire {
namespace {

class Events : public YAML::EventHandler {
 public:
  explicit Events(ValueBuilder& builder) : builder_(builder) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { builder_.null(line(mark), anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override { builder_.alias(anchor, line(mark)); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const bool quoted = tag == "!";  // yaml-cpp's tag of a scalar that is not plain
    if (!quoted && (text == "null" || text == "~" || text.empty())) {
      builder_.null(line(mark), anchor);
    } else {
      builder_.scalar(text, quoted, line(mark), anchor);
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    builder_.begin(Value::Kind::list, line(mark), anchor);
  }
  void OnSequenceEnd() override { builder_.end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    builder_.begin(Value::Kind::map, line(mark), anchor);
  }
  void OnMapEnd() override { builder_.end(); }

 private:
  static int line(const YAML::Mark& mark) { return mark.line + 1; }
  ValueBuilder& builder_;
};

}  // namespace

Value parse_yaml(std::string_view text, const std::string& file, Problems& problems) {
  // yaml-cpp 0.7 overlooks a quote that is never closed when the text ends with a line end: leave that out.
  const auto last = text.find_last_not_of(" \t\r\n");
  std::istringstream stream{std::string(text.substr(0, last == std::string_view::npos ? 0 : last + 1))};
  ValueBuilder builder(file, problems);
  Events events(builder);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(events)) return {};
    Value value = builder.take();
    if (parser.HandleNextDocument(events)) throw ParseError(0, "more than one YAML document (---)");
    return value;
  } catch (const YAML::Exception& e) { throw ParseError(e.mark.line + 1, "not valid YAML: " + e.msg); }
}

}  // namespace trainwire
