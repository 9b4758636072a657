// What is known about kinds of GPU by name.
#include "sim/topology/importers/host.h"

namespace trainwire {

const std::vector<GpuTraits>& gpu_traits() {
  static const char* const second = "NVLink 2.0: 300 GB/s over 6 NVLinks, both directions (Tesla V100 datasheet)";
  static const char* const third = "NVLink 3.0: 600 GB/s over 12 NVLinks, both directions (A100 datasheet)";
  static const char* const fourth = "NVLink 4.0: 900 GB/s over 18 NVLinks, both directions (H100 datasheet)";
  static const char* const bridge = "four NVLinks, 112.5 GB/s both directions (GA102 whitepaper)";
  static const char* const v100 = "as in topologies/dgx-1v.yaml: NCCL all-reduce; vTrain (MICRO'24), commit f8dda84";
  static const char* const a100 =
      "as in topologies/dgx-a100.yaml: NCCL collectives; NVIDIA aiconfigurator, commit 095f58a";
  static const char* const h100 =
      "as in topologies/dgx-h100.yaml: NCCL collectives; NVIDIA aiconfigurator, commit 095f58a";
  static const char* const pairs = "as in topologies/pcie-4x3090-nvlink-pairs.yaml";
  static const std::vector<GpuTraits> table{
      {"h100-sxm", {"2330"}, 90, 18, true, 25, fourth, 0.76, 1.5, h100, 400},
      {"a100-sxm-80gb", {"20b2", "20b5"}, 80, 12, true, 25, third, 0.72, 2.25, a100, 200},
      {"v100-sxm2-32gb", {"1db5"}, 70, 6, false, 25, second, 0.9, 5, v100, 100},
      {"rtx-3090", {"2204"}, 86, 4, false, 14.0625, bridge, 0.75, 5, pairs, 10},
      {"rtx-4090", {"2684"}, 89, 0, false, 0, "", 0, 0, "", 10},
      {"l40s", {"26b9"}, 89, 0, false, 0, "", 0, 0, "", 200},
      {"h200", {"2335"}, 90, 18, true, 25, fourth, 0.76, 1.5, h100, 400},
      {"h100-pcie", {"2331"}, 90, 12, false, 25, fourth, 0.76, 2, h100, 200},
      {"a100-sxm-40gb", {"20b0"}, 80, 12, true, 25, third, 0.72, 2.25, a100, 200},
      {"v100-sxm2-16gb", {"1db1"}, 70, 6, false, 25, second, 0.9, 5, v100, 100},
  };
  return table;
}

const GpuTraits* traits_of(const std::string& gpu) {
  for (const GpuTraits& traits : gpu_traits())
    if (gpu == traits.name) return &traits;
  return nullptr;
}

const GpuTraits* named_gpu(const std::string& gpu, const std::filesystem::path& file, Problems& problems) {
  const GpuTraits* traits = traits_of(gpu);
  if (traits == nullptr) {
    std::vector<std::string> names;
    for (const GpuTraits& t : gpu_traits()) names.emplace_back(t.name);
    problems.add({{file.string(), 0}, "gpu", gpu, "the importer knows no such GPU", suggestion(gpu, names)});
  }
  return traits;
}

}  // namespace trainwire
