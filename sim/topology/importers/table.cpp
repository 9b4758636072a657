// The table of importers.
#include "sim/config/text_file.h"
#include "sim/topology/importers/host.h"

namespace trainwire {

const std::vector<Importer>& importers() {
  static const std::vector<Importer> table{
      {"nccl-topo", import_nccl_topo},
      {"nvidia-smi-topo", import_nvidia_smi_topo},
  };
  return table;
}

const Importer* find_importer(const std::string& name) {
  for (const Importer& importer : importers())
    if (name == importer.name) return &importer;
  return nullptr;
}

std::optional<Imported> import_topology(const Importer& importer, const std::filesystem::path& file,
                                        const std::string& gpu, Problems& problems) {
  constexpr std::uintmax_t most = 1U << 20;  // real ones have some ten KiB
  const auto text = read_text_file(file, most, problems);
  if (!text) return std::nullopt;
  return importer.read(*text, file, gpu, problems);
}

}  // namespace trainwire
