// NCCL's topology files (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE): system > cpu > pci > gpu > nvlink, and pci > nic > net.
// Files that clouds ship leave out what NCCL finds by itself at run time (gpu, nvlink, net); dumps have all of it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "sim/config/xml.h"
#include "sim/topology/importers/host.h"

namespace trainwire {
namespace {

constexpr int most_devices = 256;  // GPUs, and ports, of one host

struct FoundGpu {
  std::string bus;
  int dev = -1, sm = 0, line = 0;
  std::string pci_device;
  const XmlElement* element = nullptr;  // <gpu>, if the file has one
};

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

struct Reading {
  const std::string file;
  Problems& problems;
  ImportedHost host;
  std::vector<FoundGpu> gpus;
  bool speeds_missing = false;

  void fail(int line, const std::string& key, const std::string& value, const std::string& problem,
            const std::string& fix = "") {
    problems.add({{file, line}, key, value, problem, fix});
  }
  std::string text(const XmlElement& e, const char* key) const {
    const std::string* value = e.find(key);
    return value == nullptr ? "" : *value;
  }
  int integer(const XmlElement& e, const char* key, int fallback, int least, int most);
  double link_gigabytes(const XmlElement& pci);
  void read_children(const XmlElement& parent, std::vector<Slot>& slots);
  void read_pci(const XmlElement& pci, std::vector<Slot>& slots);
  void read_nic(const XmlElement& nic, double gigabytes, std::vector<Slot>& slots);
  void add_port(double gigabits, double gigabytes, int line, std::vector<Slot>& slots);
  void read_nvlinks();
  void renumber();
  void read_socket_link(const XmlElement& cpu);
};

int Reading::integer(const XmlElement& e, const char* key, int fallback, int least, int most) {
  const std::string* value = e.find(key);
  if (value == nullptr || value->empty()) return fallback;
  int number = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
  if (error == std::errc() && end == value->data() + value->size() && number >= least && number <= most) return number;
  fail(e.line, fmt::format("{}.{}", e.name, key), value->substr(0, 40),
       fmt::format("must be a whole number from {} to {}", least, most));
  return fallback;
}

// "16.0 GT/s PCIe" and a width -> GB/s each way after the line code (PCI Express base specification); 0: not said.
double Reading::link_gigabytes(const XmlElement& pci) {
  const std::string speed = text(pci, "link_speed");
  const int width = integer(pci, "link_width", 0, 0, 32);
  double rate = 0;
  const auto [end, error] = std::from_chars(speed.data(), speed.data() + speed.size(), rate);
  if (speed.empty() || width == 0) {
    speeds_missing = true;
    return 0;
  }
  if (error != std::errc() || !(rate >= 2.5 && rate <= 128) || !std::string_view(end).starts_with(" GT/s")) {
    fail(pci.line, "pci.link_speed", speed.substr(0, 40), "must be a PCIe rate in GT/s", "Example: 16 GT/s");
    return 0;
  }
  return rate * width / 8 * (rate < 8 ? 0.8 : 128.0 / 130.0);
}

void Reading::add_port(double gigabits, double gigabytes, int line, std::vector<Slot>& slots) {
  if (static_cast<int>(host.ports.size()) >= most_devices)
    return fail(line, "net", "", fmt::format("is more than {} network ports", most_devices));
  slots.push_back({Slot::Kind::nic, static_cast<int>(host.ports.size()), gigabytes, {}});
  host.ports.push_back(gigabits);
}

void Reading::read_nic(const XmlElement& nic, double gigabytes, std::vector<Slot>& slots) {
  const auto has_net = [](const XmlElement& e) { return e.name == "net"; };
  if (std::none_of(nic.children.begin(), nic.children.end(), has_net)) return add_port(0, gigabytes, nic.line, slots);
  for (const XmlElement& net : nic.children) {
    if (!has_net(net)) continue;
    const int megabits = integer(net, "speed", 0, 0, 10'000'000);
    add_port(megabits / 1000.0, gigabytes, net.line, slots);
  }
}

void Reading::read_pci(const XmlElement& pci, std::vector<Slot>& slots) {
  const std::string device_class = lower(text(pci, "class"));
  const double gigabytes = link_gigabytes(pci);
  const auto child = [&](const char* name) {
    const auto found =
        std::find_if(pci.children.begin(), pci.children.end(), [&](const XmlElement& e) { return e.name == name; });
    return found == pci.children.end() ? nullptr : &*found;
  };
  const XmlElement* gpu = child("gpu");
  if (gpu != nullptr || device_class.starts_with("0x0302")) {
    if (static_cast<int>(gpus.size()) >= most_devices)
      return fail(pci.line, "gpu", "", fmt::format("is more than {} GPUs", most_devices));
    FoundGpu found{lower(text(pci, "busid")), -1, 0, pci.line, lower(text(pci, "device")), gpu};
    if (gpu != nullptr) found.dev = integer(*gpu, "dev", -1, 0, 4096);
    if (gpu != nullptr) found.sm = integer(*gpu, "sm", 0, 10, 999);
    slots.push_back({Slot::Kind::gpu, static_cast<int>(gpus.size()), gigabytes, {}});
    gpus.push_back(found);
    return;
  }
  if (const XmlElement* nic = child("nic")) return read_nic(*nic, gigabytes, slots);
  if (device_class.starts_with("0x02")) return add_port(0, gigabytes, pci.line, slots);
  if (pci.children.empty()) return;  // a place without a device that matters
  Slot bridge{Slot::Kind::bridge, -1, gigabytes, {}};
  read_children(pci, bridge.children);
  slots.push_back(std::move(bridge));
}

void Reading::read_children(const XmlElement& parent, std::vector<Slot>& slots) {
  for (const XmlElement& e : parent.children) {
    if (e.name == "pci") read_pci(e, slots);
    if (e.name == "nic") read_nic(e, 0, slots);
  }
}

// GPUs are numbered as CUDA does where the file says how, else in file order.
void Reading::renumber() {
  std::map<int, int> order;
  for (std::size_t i = 0; i < gpus.size(); ++i) order[gpus[i].dev] = static_cast<int>(i);
  if (order.size() != gpus.size() || order.begin()->first < 0) return;
  std::vector<int> number(gpus.size());
  std::vector<FoundGpu> sorted;
  for (const auto& [dev, old] : order) {
    number[static_cast<std::size_t>(old)] = static_cast<int>(sorted.size());
    sorted.push_back(gpus[static_cast<std::size_t>(old)]);
  }
  gpus = std::move(sorted);
  const auto renumber_in = [&](auto& self, std::vector<Slot>& slots) -> void {
    for (Slot& slot : slots) {
      if (slot.kind == Slot::Kind::gpu) slot.index = number[static_cast<std::size_t>(slot.index)];
      self(self, slot.children);
    }
  };
  for (auto& socket : host.sockets) renumber_in(renumber_in, socket);
}

// An NVLink's target is the bus of a GPU, or of an NVSwitch (class 0x0680).
void Reading::read_nvlinks() {
  std::map<std::string, int> by_bus;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!gpus[i].bus.empty() && !by_bus.emplace(gpus[i].bus, static_cast<int>(i)).second)
      fail(gpus[i].line, "pci.busid", gpus[i].bus, "is the bus of two GPUs");
  }
  host.crossbar.assign(gpus.size(), 0);
  std::map<std::pair<int, int>, int> direct;
  bool self = false, elsewhere = false;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i].element == nullptr) continue;
    for (const XmlElement& link : gpus[i].element->children) {
      if (link.name != "nvlink") continue;
      const int count = integer(link, "count", 1, 1, 64);
      const auto peer = by_bus.find(lower(text(link, "target")));
      if (peer != by_bus.end() && peer->second == static_cast<int>(i)) {
        self = true;
      } else if (peer != by_bus.end()) {
        direct[{static_cast<int>(i), peer->second}] += count;
      } else if (lower(text(link, "tclass")).starts_with("0x0680")) {
        host.crossbar[i] = std::min(host.crossbar[i] + count, 64);
      } else {
        elsewhere = true;
      }
    }
  }
  for (const auto& [ends, count] : direct) {
    const auto back = direct.find({ends.second, ends.first});
    if (back == direct.end() || back->second != count)
      fail(gpus[static_cast<std::size_t>(ends.first)].line, "nvlink", std::to_string(count),
           fmt::format("GPU {} has {} NVLinks to GPU {}, which has {} back", ends.first, count, ends.second,
                       back == direct.end() ? 0 : back->second));
    else if (ends.first < ends.second)
      host.pairs.push_back({ends.first, ends.second, std::min(count, 64)});
  }
  if (self)
    host.assumed.push_back(
        "NVLinks that lead from a GPU to itself (a virtual machine hides the other end) are left out");
  if (elsewhere) host.assumed.push_back("NVLinks to something that is neither GPU nor NVSwitch are left out");
}

// What NCCL reckons with between sockets (src/graph/topo.h).
void Reading::read_socket_link(const XmlElement& cpu) {
  struct Row {
    const char *arch, *vendor;
    int model;  // lowest
    double gigabytes;
    const char* name;
  };
  static constexpr Row rows[] = {{"x86_64", "GenuineIntel", 0x8F, 22, "Intel Sapphire Rapids"},
                                 {"x86_64", "GenuineIntel", 0x55, 10, "Intel Skylake"},
                                 {"x86_64", "GenuineIntel", 0, 6, "Intel QPI"},
                                 {"x86_64", "AuthenticAMD", 0, 16, "AMD"},
                                 {"arm64", "", 0, 6, "Arm"},
                                 {"ppc64", "", 0, 32, "POWER9"}};
  const int model = integer(cpu, "modelid", 0, 0, 65535);
  for (const Row& row : rows) {
    if (text(cpu, "arch") != row.arch || (row.vendor[0] != '\0' && text(cpu, "vendor") != row.vendor)) continue;
    if (model < row.model) continue;
    host.socket_gigabytes = row.gigabytes;
    host.socket_source =
        fmt::format("peer-to-peer traffic between sockets as NCCL reckons for {} (src/graph/topo.h)", row.name);
    return;
  }
}

const GpuTraits& guess_gpu(const Reading& r, ImportedHost& host) {
  const FoundGpu& gpu = r.gpus.front();
  for (const GpuTraits& traits : gpu_traits())
    for (const std::string id : traits.pci_devices)
      if (gpu.pci_device.ends_with(id)) return traits;
  double rate = 0;
  const auto find_rate = [&](const auto& self, const std::vector<Slot>& slots) -> void {
    for (const Slot& slot : slots) {
      if (slot.kind == Slot::Kind::gpu) rate = std::max(rate, slot.gigabytes);
      self(self, slot.children);
    }
  };
  for (const auto& socket : host.sockets) find_rate(find_rate, socket);
  const int sm = gpu.sm > 0 ? gpu.sm : rate > 40 ? 90 : rate > 20 || rate == 0 ? 80 : 70;
  const auto same = std::find_if(gpu_traits().begin(), gpu_traits().end(), [&](const auto& t) { return t.sm == sm; });
  const GpuTraits& traits = same == gpu_traits().end() ? gpu_traits().front() : *same;
  host.assumed.push_back(fmt::format("the GPU: {}, from {}; say --gpu NAME (in a scenario: gpu: NAME) if it is another",
                                     traits.name,
                                     gpu.sm > 0 ? fmt::format("sm {}", sm) : std::string("the rate of its PCIe link")));
  return traits;
}

// What is no topology of one host at all.
bool check_root(const XmlElement& root, Reading& r) {
  if (root.name == "graphs") {
    r.fail(root.line, "", "", "is a file of NCCL's channels (NCCL_GRAPH_DUMP_FILE), not of its topology",
           "Take one written with NCCL_TOPO_DUMP_FILE");
    return false;
  }
  if (root.name != "system") {
    r.fail(root.line, "", "", fmt::format("begins with <{}>, an NCCL topology with <system>", root.name.substr(0, 40)),
           "Take a file written with NCCL_TOPO_DUMP_FILE");
    return false;
  }
  const XmlElement* first = nullptr;
  for (const XmlElement& cpu : root.children) {
    if (cpu.name != "cpu") continue;
    if (first != nullptr && r.text(*first, "host_hash") != r.text(cpu, "host_hash")) {
      r.fail(cpu.line, "cpu.host_hash", r.text(cpu, "host_hash").substr(0, 40), "is of another host than the first",
             "A topology file of ours is one host: take the dump of a run on one");
      return false;
    }
    if (first == nullptr) first = &cpu;
  }
  return true;
}

}  // namespace

std::optional<Imported> import_nccl_topo(const std::string& text, const std::filesystem::path& file,
                                         const std::string& gpu, Problems& problems) {
  const std::size_t before = problems.all().size();
  const auto root = parse_xml(text, file.string(), problems);
  if (!root) return std::nullopt;
  Reading r{file.string(), problems, {}, {}};
  if (!check_root(*root, r)) return std::nullopt;
  for (const XmlElement& cpu : root->children) {
    if (cpu.name != "cpu") continue;
    r.read_children(cpu, r.host.sockets.emplace_back());
    if (r.host.sockets.size() == 1) r.read_socket_link(cpu);
  }
  if (r.gpus.empty()) {
    r.fail(root->line, "", "", "names no GPU (clouds ship such files: NCCL finds the GPUs by itself at run time)",
           "Take one written on such a machine with NCCL_TOPO_DUMP_FILE");
    return std::nullopt;
  }
  r.renumber();
  r.read_nvlinks();
  r.host.gpus = static_cast<int>(r.gpus.size());
  r.host.nvlinks_known =
      std::any_of(r.gpus.begin(), r.gpus.end(), [](const FoundGpu& g) { return g.element != nullptr; });
  r.host.pcie_source = "link_speed and link_width in the imported file, less the line code";
  const GpuTraits* traits = gpu.empty() ? &guess_gpu(r, r.host) : named_gpu(gpu, file, problems);
  if (problems.all().size() != before) return std::nullopt;
  return write_host(std::move(r.host), *traits, file, "nccl-topo");
}

}  // namespace trainwire
