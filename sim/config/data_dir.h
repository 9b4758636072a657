// Where the files that ship with the program are found: models/, topologies/, scenarios/, reports/.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace trainwire {

// $TRAINWIRE_HOME if set, else the source tree the program was built from, else the current folder.
std::filesystem::path data_dir();
// Names (without ending) of the files with one of these endings in a folder of data_dir(): for "did you mean".
std::vector<std::string> names_in(const std::string& folder, const std::vector<std::string>& endings);

}  // namespace trainwire
