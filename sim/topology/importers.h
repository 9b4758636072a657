// Files of other tools -> our topology files. Adding one is a file in importers/ and a row of importers/table.cpp.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/problems.h"

namespace trainwire {

// One of our topology files as text; its comments list what had to be assumed, and so does `assumed`, one a line.
struct Imported {
  std::string yaml;
  std::vector<std::string> assumed;
};

struct Importer {
  const char* name;
  // `text` of `file`. `gpu`: a name in topologies/gpu that the user gave; empty: guess.
  std::optional<Imported> (*read)(const std::string& text, const std::filesystem::path& file, const std::string& gpu,
                                  Problems& problems);
};
const std::vector<Importer>& importers();
const Importer* find_importer(const std::string& name);  // nullptr: none

// Problems carry the file and the line.
std::optional<Imported> import_topology(const Importer& importer, const std::filesystem::path& file,
                                        const std::string& gpu, Problems& problems);

}  // namespace trainwire
