// The file that an imported host becomes.
#include <fmt/format.h>

#include <algorithm>

#include "sim/topology/importers/host.h"

namespace trainwire {
namespace {

std::string tree_text(const std::vector<Slot>& slots) {
  std::string text;
  for (const Slot& slot : slots) {
    if (!text.empty()) text += ", ";
    if (slot.kind == Slot::Kind::bridge)
      text += tree_text(slot.children);
    else
      text += fmt::format("{}{}", slot.kind == Slot::Kind::gpu ? "gpu" : "nic", slot.index);
  }
  return "[" + text + "]";
}

// Switches with nothing below are gone; one with a single child is a wire as narrow as the narrower of the two.
void tidy(std::vector<Slot>& slots) {
  for (Slot& slot : slots) {
    tidy(slot.children);
    if (slot.kind != Slot::Kind::bridge || slot.children.size() != 1) continue;
    Slot child = std::move(slot.children[0]);
    if (slot.gigabytes > 0 && (child.gigabytes <= 0 || slot.gigabytes < child.gigabytes))
      child.gigabytes = slot.gigabytes;
    slot = std::move(child);
  }
  std::erase_if(slots, [](const Slot& s) { return s.kind == Slot::Kind::bridge && s.children.empty(); });
}

// Narrowest and widest known link of a kind; 0: none is known.
struct Range2 {
  double least = 0, most = 0;
};
void find_range(const std::vector<Slot>& slots, Slot::Kind kind, Range2& range) {
  for (const Slot& slot : slots) {
    if (slot.kind == kind && slot.gigabytes > 0) {
      range.least = range.least == 0 ? slot.gigabytes : std::min(range.least, slot.gigabytes);
      range.most = std::max(range.most, slot.gigabytes);
    }
    find_range(slot.children, kind, range);
  }
}

bool has_bridge(const ImportedHost& host) {
  return std::any_of(host.sockets.begin(), host.sockets.end(), [](const auto& socket) {
    return std::any_of(socket.begin(), socket.end(), [](const Slot& s) { return s.kind == Slot::Kind::bridge; });
  });
}

struct Writer {
  ImportedHost& host;
  const GpuTraits& gpu;
  std::string body;

  void assume(const std::string& text) { host.assumed.push_back(text); }
  void line(const std::string& text) { body += text + "\n"; }
  // A link with where its numbers come from; `origin` is datasheet, measured or assumed.
  void link(const std::string& key, const std::string& bandwidth, const std::string& latency,
            const std::string& efficiency) {
    line(fmt::format("  {}:", key));
    line("    bandwidth: " + bandwidth);
    line("    latency: " + latency);
    line("    efficiency: " + efficiency);
  }

  void nvlinks();
  void pcie();
  void pcie_links(const char* key, Slot::Kind kind, double fallback);
  void ports();
};

std::string sourced(const std::string& value, const char* origin, const std::string& source) {
  std::string text = source;
  std::replace(text.begin(), text.end(), '"', '\'');
  std::replace(text.begin(), text.end(), '\\', '/');
  return fmt::format("{{value: {}, {}: \"{}\"}}", value, origin, text);
}

void Writer::nvlinks() {
  if (!host.nvlinks_known && gpu.crossbar) {
    host.crossbar.assign(static_cast<std::size_t>(host.gpus), gpu.nvlinks);
    assume(
        fmt::format("NVLinks: the file names none (NCCL finds them when it runs); all {} of each {} lead to "
                    "NVSwitches",
                    gpu.nvlinks, gpu.name));
  } else if (!host.nvlinks_known) {
    assume(
        "NVLinks: the file names none (NCCL finds them when it runs); none are there. Add nvlink and pairs if "
        "there are");
  }
  std::vector<std::string> on_crossbar;
  int links = 0;
  for (std::size_t i = 0; i < host.crossbar.size(); ++i) {
    if (host.crossbar[i] <= 0) continue;
    on_crossbar.push_back(fmt::format("gpu{}", i));
    if (links != 0 && links != host.crossbar[i])
      assume(fmt::format("GPUs have unequal numbers of NVLinks into NVSwitches; each has {}",
                         std::min(links, host.crossbar[i])));
    links = links == 0 ? host.crossbar[i] : std::min(links, host.crossbar[i]);
  }
  if (on_crossbar.empty() && host.pairs.empty()) return;
  const bool known = gpu.nvlink_gigabytes > 0;
  if (!known) assume(fmt::format("NVLinks of {}: 25 GB/s each way, as of an A100", gpu.name));
  line("  # of one NVLink");
  link("nvlink",
       sourced(fmt::format("{:.6g} GB/s", known ? gpu.nvlink_gigabytes : 25), known ? "datasheet" : "assumed",
               known ? gpu.nvlink_source : "as of an A100"),
       sourced(fmt::format("{:.4g} us", known ? gpu.nvlink_latency_us : 2.25), "assumed",
               known ? gpu.nvlink_measured : "as of an A100"),
       sourced(fmt::format("{:.4g}", known ? gpu.nvlink_efficiency : 0.72), "assumed",
               known ? gpu.nvlink_measured : "as of an A100"));
  if (links > 0 && on_crossbar.size() == static_cast<std::size_t>(host.gpus)) {
    line(fmt::format("  nvswitch: {}", links));
  } else if (links > 0) {
    std::string names;
    for (const auto& name : on_crossbar) names += (names.empty() ? "" : ", ") + name;
    line(fmt::format("  nvswitch: {{links: {}, gpus: [{}]}}", links, names));
  }
  if (host.pairs.empty()) return;
  line("  pairs:  # GPU, GPU, NVLinks");
  for (const auto& [a, b, count] : host.pairs) line(fmt::format("    - [{}, {}, {}]", a, b, count));
}

void Writer::pcie_links(const char* key, Slot::Kind kind, double fallback) {
  Range2 range;
  for (const auto& socket : host.sockets) find_range(socket, kind, range);
  const char* const efficiency_source = "NCCL counts 12 GB/s of the 15.75 GB/s of PCIe 3.0 x16 (src/graph/topo.h)";
  const char* what = kind == Slot::Kind::gpu ? "GPUs" : "PCIe switches";
  if (range.least == 0)
    assume(fmt::format("PCIe links of {}: {:.4g} GB/s, usual for hosts of {}", what, fallback, gpu.name));
  else if (range.least < range.most)
    assume(fmt::format("PCIe links of {} differ ({:.4g} to {:.4g} GB/s): all have the narrowest", what, range.least,
                       range.most));
  link(key,
       range.least == 0
           ? sourced(fmt::format("{:.4g} GB/s", fallback), "assumed", fmt::format("usual for hosts of {}", gpu.name))
           : sourced(fmt::format("{:.4g} GB/s", range.least), "datasheet", host.pcie_source),
       sourced("2.5 us", "assumed", "half of a peer-to-peer message under one switch"),
       sourced("0.76", "assumed", efficiency_source));
}

void Writer::pcie() {
  const double fallback = gpu.sm >= 90 && gpu.nvlinks > 0 ? 63.0 : gpu.sm >= 80 ? 31.5 : 15.75;
  pcie_links("pcie", Slot::Kind::gpu, fallback);
  if (has_bridge(host)) pcie_links("uplink", Slot::Kind::bridge, fallback);
  if (host.sockets.size() > 1) {
    if (host.socket_source.empty()) {
      host.socket_gigabytes = 16;
      host.socket_source = "NCCL's figure for AMD hosts (src/graph/topo.h)";
      assume("the link between sockets: 16 GB/s of peer-to-peer traffic each way");
    }
    link("socket_link", sourced(fmt::format("{:.4g} GB/s", host.socket_gigabytes), "assumed", host.socket_source),
         sourced("1 us", "assumed", "a hop between sockets"),
         sourced("1", "assumed", "the bandwidth is what peer-to-peer traffic reaches"));
  }
  line("  tree:  # a line a socket: devices, and [PCIe switches]");
  for (const auto& socket : host.sockets) line("    - " + tree_text(socket));
}

void Writer::ports() {
  if (host.ports.empty()) return;
  const double known = *std::max_element(host.ports.begin(), host.ports.end());
  double gigabits = known > 0 ? known : gpu.port_gigabits;
  Range2 slots;
  for (const auto& socket : host.sockets) find_range(socket, Slot::Kind::nic, slots);
  if (known <= 0 && slots.most > 0)  // no more than the slot carries
    for (const double rate : {400.0, 200.0, 100.0, 50.0, 25.0, 10.0})
      if (rate <= slots.most * 8 || rate == 10.0) {
        gigabits = std::min(gigabits, rate);
        break;
      }
  if (known <= 0)
    assume(fmt::format("network ports: {:.4g} Gb/s each, usual in hosts of {}", gigabits, gpu.name));
  else if (std::any_of(host.ports.begin(), host.ports.end(), [&](double p) { return p != known; }))
    assume(fmt::format("network ports differ in speed: all have {:.4g} Gb/s", known));
  line(fmt::format("  nics: {}", host.ports.size()));
  link("nic",
       known > 0 ? sourced(fmt::format("{:.6g} Gb/s", gigabits), "datasheet", "speed of <net> in the imported file")
                 : sourced(fmt::format("{:.6g} Gb/s", gigabits), "assumed",
                           fmt::format("not in the imported file; usual beside {}", gpu.name)),
       sourced("2.5 us", "assumed", "half of a message between hosts with GPUDirect RDMA"),
       sourced("0.92", "assumed", "as measured on DGX A100: NCCL all-reduce reaches 86 to 96 of 100 GB/s"));
}

}  // namespace

Imported write_host(ImportedHost host, const GpuTraits& gpu, const std::filesystem::path& file,
                    const std::string& importer) {
  for (auto& socket : host.sockets) tidy(socket);
  std::erase_if(host.sockets, [](const auto& socket) { return socket.empty(); });
  Writer writer{host, gpu, ""};
  writer.line("host:");
  writer.line("  kind: server");
  writer.line(fmt::format("  gpus: {}", host.gpus));
  writer.line(fmt::format("  gpu: {}", gpu.name));
  writer.nvlinks();
  writer.ports();
  writer.pcie();
  writer.line("nodes: 1");
  writer.line("fabric: {kind: switch}");
  std::string name = file.stem().string();
  for (char& c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\') c = '_';
  std::string head = fmt::format("# Imported by `trainwire import {}` from {}.\n", importer, name);
  if (!host.assumed.empty()) head += "# ASSUMED, because that file does not say it. Check these:\n";
  for (const std::string& text : host.assumed) head += "#   - " + text + "\n";
  return {head + fmt::format("name: \"{}\"\n", name) + writer.body, std::move(host.assumed)};
}

}  // namespace trainwire
