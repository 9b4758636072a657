// XML through expat's events.
#include <expat.h>
#include <fmt/format.h>

#include <memory>

#include "sim/config/xml.h"

namespace trainwire {
namespace {

constexpr std::size_t max_xml_depth = 32, max_elements = 20'000, max_attributes = 64;

struct Parsing {
  XML_Parser parser = nullptr;
  XmlElement root;
  std::vector<XmlElement> open;
  std::size_t elements = 0;
  std::string refused;  // why parsing was stopped

  void stop(const std::string& why) {
    refused = why;
    XML_StopParser(parser, XML_FALSE);
  }
};

void begin_element(void* user, const XML_Char* name, const XML_Char** attributes) {
  auto& p = *static_cast<Parsing*>(user);
  if (!p.refused.empty()) return;
  if (p.open.size() >= max_xml_depth) return p.stop(fmt::format("elements nested deeper than {}", max_xml_depth));
  if (++p.elements > max_elements) return p.stop(fmt::format("has more than {} elements", max_elements));
  XmlElement element;
  element.name = name;
  element.line = static_cast<int>(XML_GetCurrentLineNumber(p.parser));
  for (const XML_Char** a = attributes; *a != nullptr; a += 2) element.attributes.emplace_back(a[0], a[1]);
  if (element.attributes.size() > max_attributes)
    return p.stop(fmt::format("<{}> has more than {} attributes", element.name, max_attributes));
  p.open.push_back(std::move(element));
}

void end_element(void* user, const XML_Char*) {
  auto& p = *static_cast<Parsing*>(user);
  if (!p.refused.empty()) return;
  XmlElement element = std::move(p.open.back());
  p.open.pop_back();
  (p.open.empty() ? p.root : p.open.back().children.emplace_back()) = std::move(element);
}

void document_type(void* user, const XML_Char*, const XML_Char*, const XML_Char*, int) {
  static_cast<Parsing*>(user)->stop("has a document type (DOCTYPE): entities are not expanded here");
}

}  // namespace

const std::string* XmlElement::find(std::string_view attribute) const {
  for (const auto& [name_, value] : attributes)
    if (name_ == attribute) return &value;
  return nullptr;
}

std::optional<XmlElement> parse_xml(std::string_view text, const std::string& file, Problems& problems) {
  const std::unique_ptr<std::remove_pointer_t<XML_Parser>, decltype(&XML_ParserFree)> parser(XML_ParserCreate(nullptr),
                                                                                             &XML_ParserFree);
  Parsing parsing;
  parsing.parser = parser.get();
  XML_SetUserData(parser.get(), &parsing);
  XML_SetElementHandler(parser.get(), begin_element, end_element);
  XML_SetStartDoctypeDeclHandler(parser.get(), document_type);
  if (XML_Parse(parser.get(), text.data(), static_cast<int>(text.size()), XML_TRUE) == XML_STATUS_OK)
    return std::move(parsing.root);
  const std::string why = parsing.refused.empty()
                              ? fmt::format("is no sound XML: {}", XML_ErrorString(XML_GetErrorCode(parser.get())))
                              : parsing.refused;
  problems.add({{file, static_cast<int>(XML_GetCurrentLineNumber(parser.get()))}, "", "", why, ""});
  return std::nullopt;
}

}  // namespace trainwire
