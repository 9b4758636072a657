// Models for the tests: from models/, from text, from a Hugging Face config in text.
#pragma once
#include <string>

#include "sim/config/value.h"
#include "sim/model/model.h"

namespace trainwire {

// A scalar or a mapping as a scenario's `model:` would have it.
inline Model load(const std::string& text, Problems& problems, const std::filesystem::path& base = ".") {
  return load_model(read_text(text, "scenario.yaml", problems), base, problems);
}

inline Model shipped(const std::string& name) {
  Problems problems;
  Model model = load("{use: " + name + "}", problems);
  problems.throw_if_any();
  return model;
}

// All messages, one a line.
inline std::string messages(const Problems& problems) {
  std::string all;
  for (const Problem& problem : problems.all()) all += to_text(problem) + "\n";
  return all;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace trainwire
