// What both fuzzers do with their input: import it. That what comes out can be loaded is tested by seeded mutations.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "sim/topology/importers.h"

inline int fuzz_import(const char* kind, const std::uint8_t* data, std::size_t size) {
  trainwire::Problems problems;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto imported = trainwire::find_importer(kind)->read(text, "fuzz", "", problems);
  if (imported.has_value() != problems.empty()) std::abort();
  return 0;
}
