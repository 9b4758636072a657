// What publishers call GPUs and machines, and which rows are kept back.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>

#include "sim/score/tables.h"

namespace trainwire {
namespace {

struct Name {
  const char* published;
  const char* gpu;
  const char* machine;
};
// The first that the published name holds, in small letters with - for _.
constexpr Name names[] = {
    {"gb200", "gb200", "gb200-nvl4"}, {"b200", "b200", "dgx-b200"},          {"h200", "h200", "dgx-h200"},
    {"h100", "h100-sxm", "dgx-h100"}, {"a100", "a100-sxm-80gb", "dgx-a100"}, {"l40s", "l40s", "pcie-8xl40s"},
};

const Name* find(std::string published) {
  for (char& c : published) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Name& name : names)
    if (published.find(name.published) != std::string::npos) return &name;
  return nullptr;
}

std::uint32_t crc32(const std::string& text) {  // ISO 3309, as in zlib
  std::uint32_t crc = ~0U;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

}  // namespace

std::string gpu_file(const std::string& published) {
  const Name* name = find(published);
  return name == nullptr ? "" : name->gpu;
}

std::string machine_file(const std::string& published) {
  const Name* name = find(published);
  return name == nullptr ? "" : name->machine;
}

bool kept_back(const std::vector<double>& numbers) {
  std::vector<std::int64_t> whole(numbers.begin(), numbers.end());
  return crc32(fmt::format("1:{}", fmt::join(whole, ","))) % 3 == 0;
}

}  // namespace trainwire
