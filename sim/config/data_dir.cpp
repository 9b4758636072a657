// Where the files that ship with the program are found.
#include "sim/config/data_dir.h"

#include <algorithm>
#include <cstdlib>

namespace trainwire {

namespace fs = std::filesystem;

fs::path data_dir() {
  if (const char* home = std::getenv("TRAINWIRE_HOME"); home != nullptr && *home != '\0') return home;
  std::error_code error;
  const fs::path source = TRAINWIRE_SOURCE_DIR;
  return fs::is_directory(source / "models", error) ? source : fs::current_path(error);
}

std::vector<std::string> names_in(const std::string& folder, const std::vector<std::string>& endings) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(data_dir() / folder, error), end; !error && at != end; at.increment(error)) {
    const std::string ending = at->path().extension().string();
    if (std::find(endings.begin(), endings.end(), ending) != endings.end()) names.push_back(at->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace trainwire
