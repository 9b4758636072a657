// Finds and reads the file that a name or a path in the input means.
#pragma once
#include <filesystem>
#include <string>

#include "sim/config/value.h"

namespace trainwire {

struct Located {
  bool found = false;
  Value value;
  std::filesystem::path file;
};

// A name is a file of `folder` (of data_dir()) without its ending; with a slash or an ending it is a path, relative to
// `base` or to the file that says it. `key` is what the input calls it, for messages.
Located locate(const Value& name, const std::string& folder, const std::string& key, const std::filesystem::path& base,
               Problems& problems);

}  // namespace trainwire
