// A choice by name in a scenario file: one table a key; what is planned but not there yet answers so by its name.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "sim/config/reader.h"

namespace trainwire {

template <class E>
struct Named {
  const char* name;
  E value;
  bool supported = true;
};

inline std::string supported_text(const std::vector<std::string>& names) {
  std::string text = "Supported: ";
  for (const std::string& name : names) text += (&name == names.data() ? "" : ", ") + name;
  return text;
}

template <class E>
E read_name(Reader& reader, const std::string& key, std::span<const Named<E>> table, E fallback) {
  std::vector<std::string> names, supported;
  std::string fallback_name;
  for (const Named<E>& row : table) {
    names.emplace_back(row.name);
    if (row.supported) supported.emplace_back(row.name);
    if (row.value == fallback) fallback_name = row.name;
  }
  const std::string chosen = reader.choice(key, names, fallback_name);
  for (const Named<E>& row : table) {
    if (chosen != row.name) continue;
    if (!row.supported) reader.fail(key, "is not supported yet", supported_text(supported));
    return row.value;
  }
  return fallback;
}

}  // namespace trainwire
