// XML from outside as a small tree of plain values. Untrusted: a document type is refused, so that there is nothing to
// expand; depth, elements and attributes are bounded; nothing is fetched.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/problems.h"

namespace trainwire {

struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;  // in file order; names are distinct
  std::vector<XmlElement> children;
  int line = 0;

  const std::string* find(std::string_view attribute) const;  // nullptr when absent
};

// The root element; text between elements is skipped. A problem with its line, and nothing, where it is no sound XML.
std::optional<XmlElement> parse_xml(std::string_view text, const std::string& file, Problems& problems);

}  // namespace trainwire
