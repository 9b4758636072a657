#include "sim/config/text_file.h"

#include <fmt/format.h>

#include <fstream>

namespace trainwire {

std::optional<std::string> read_text_file(const std::filesystem::path& file, std::uintmax_t most, Problems& problems) {
  namespace fs = std::filesystem;
  const auto refuse = [&](const std::string& what) {
    problems.add({{file.string(), 0}, "", "", what, ""});
    return std::nullopt;
  };
  std::error_code error;
  const auto status = fs::status(file, error);
  if (!fs::exists(status)) return refuse("there is no such file");
  if (!fs::is_regular_file(status)) return refuse("is not a file");
  const auto size = fs::file_size(file, error);
  if (error) return refuse("cannot be read: " + error.message());
  if (size > most) return refuse(fmt::format("is {} KiB long, files over {} KiB are not read", size >> 10, most >> 10));
  std::string text(size, '\0');
  std::ifstream stream(file, std::ios::binary);
  if (!stream || !stream.read(text.data(), static_cast<std::streamsize>(size))) return refuse("cannot be read");
  return text;
}

}  // namespace trainwire
