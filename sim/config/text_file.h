// The bytes of one file that a person named.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "sim/config/problems.h"

namespace trainwire {

// The whole file; a problem (and nothing) where it is no file, cannot be read or is longer than `most` bytes.
std::optional<std::string> read_text_file(const std::filesystem::path& file, std::uintmax_t most, Problems& problems);

}  // namespace trainwire
