#include "sim/score/published.h"

#include <cstdlib>
#include <initializer_list>

namespace trainwire {
namespace {

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

struct Row {
  const char *source, *gpu, *machine, *framework;
  bool overlap;
};
// The first row whose source and GPU the published ones hold.
constexpr Row rows[] = {
    {"Megatron-LM SC21", "A100", "selene", "megatron-2021", false},
    {"Korthikanti", "A100", "selene", "megatron-2021", false},
    {"MT-NLG", "A100", "selene", "deepspeed", false},
    {"BigScience", "A100", "jean-zay-a100", "deepspeed", false},
    {"MegaScale", "A100", "", "megatron-core", true},
    {"torchtitan", "HBM2e", "meta-h100-96gb", "pytorch", true},
    {"torchtitan", "H200", "hgx-h200", "pytorch", true},
    {"torchtitan", "H100", "meta-h100", "pytorch", true},
    {"MosaicML", "A100-SXM-40GB", "mosaicml-a100-40gb", "pytorch", true},
    {"MosaicML", "A100", "mosaicml-a100", "pytorch", true},
    {"MosaicML", "H100", "mosaicml-h100", "pytorch", true},
    {"InternEvo", "A100", "internevo-a100", "megatron-core", true},
    {"SimuMax", "B200", "hgx-b200", "megatron-core", true},
    {"NVIDIA", "GB200", "gb200-nvl72", "megatron-core", true},
    {"NVIDIA", "GB300", "", "megatron-core", true},
    {"NVIDIA", "B300", "", "megatron-core", true},
    {"NVIDIA", "B200", "hgx-b200", "megatron-core", true},
    {"NVIDIA", "H100", "eos", "megatron-core", true},
    {"NVIDIA", "A100", "selene", "megatron-core", true},
    {"Llama 3", "H100", "meta-h100", "megatron-core", true},
    {"Megatron-Core", "H100", "eos", "megatron-core", true},
    {"Megatron-LM examples", "H100", "eos", "megatron-core", true},
    {"fms-fsdp", "A100", "mosaicml-a100", "pytorch", true},
};

}  // namespace

Publisher publisher_of(const std::string& source, const std::string& gpu, const std::string& machine,
                       const std::string& framework) {
  Publisher found{"", "pytorch", true};
  for (const Row& row : rows) {
    if (!holds(source, row.source) || !holds(gpu, row.gpu)) continue;
    found = {row.machine, row.framework, row.overlap};
    break;
  }
  if (!machine.empty()) found.machine = machine;
  if (!framework.empty()) found.framework = framework;
  return found;
}

std::string sharding_of(const std::string& published, int data_degree) {
  if (holds(published, "zero3")) return "zero3";
  if (holds(published, "zero2") || holds(published, "SHARD_GRAD_OP")) return "zero2";
  if (holds(published, "hsdp") || holds(published, " x dp(")) return "hsdp";
  if (holds(published, "fsdp")) {
    const std::size_t open = published.find('(');
    const int over = open == std::string::npos ? 0 : std::atoi(published.c_str() + open + 1);
    return over > 0 && over < data_degree ? "hsdp" : "fsdp";
  }
  if (holds(published, "zero1") || holds(published, "distributed optimizer")) return "zero1";
  return "none";
}

bool is_transformer(const std::string& model) {
  for (const char* other : {"resnet", "ResNet", "bert", "BERT", "ssd", "SSD", "gnmt", "GNMT", "tacotron", "waveglow",
                            "ncf", "NCF", "mask", "Mask", "unet", "UNet", "nasnet", "efficientnet", "resnext", "ncf",
                            "t5", "vit", "flux", "diffusion", "nmt", "-xl", "xl-"})
    if (holds(model, other)) return false;
  return true;
}

}  // namespace trainwire
