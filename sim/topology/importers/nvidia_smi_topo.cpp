// The matrix that `nvidia-smi topo -m` prints. NV# says how many NVLinks join two GPUs (and hides how PCIe does);
// PIX, PXB, PHB, NODE and SYS say how far apart two devices are on PCIe: under one switch, under several, under one
// host bridge, on one NUMA node, on several.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "sim/topology/importers/matrix.h"

namespace trainwire {
namespace {

using Kind = Relation::Kind;

// Devices joined by a relation of `at_most`, directly or through others.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
  std::size_t find(std::size_t i) const { return parent_[i] == i ? i : find(parent_[i]); }
  void join(std::size_t a, std::size_t b) {
    const std::size_t x = find(a), y = find(b);
    parent_[std::max(x, y)] = std::min(x, y);
  }

 private:
  std::vector<std::size_t> parent_;
};

Sets joined(const TopoMatrix& m, Kind at_most) {
  Sets sets(m.names.size());
  for (std::size_t a = 0; a < m.names.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (const Kind k = m.at(a, b).kind; k != Kind::self && k != Kind::nvlink && k != Kind::unknown && k <= at_most)
        sets.join(a, b);
  return sets;
}

// What is in one PCIe switch cannot be sockets apart.
void check_consistent(const TopoMatrix& m, const Sets& under_switch, Problems& problems) {
  for (std::size_t a = 0; a < m.names.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const Kind kind = m.at(a, b).kind;
      if ((kind != Kind::node && kind != Kind::sys && kind != Kind::phb) ||
          under_switch.find(a) != under_switch.find(b))
        continue;
      problems.add({m.where(a), m.names[a], std::string(to_text(kind)),
                    fmt::format("is what joins it to {}, but other entries put both under one PCIe switch", m.names[b]),
                    "The matrix contradicts itself: print it again"});
      return;
    }
}

Slot leaf(const TopoMatrix& m, std::size_t i) {
  return {m.is_gpu(i) ? Slot::Kind::gpu : Slot::Kind::nic, m.number[i], 0, {}};
}

// The devices of one socket: single ones, and those under a switch together.
std::vector<Slot> socket_of(const TopoMatrix& m, const std::vector<std::size_t>& members) {
  const Sets near = joined(m, Kind::pix), far = joined(m, Kind::pxb);
  std::map<std::size_t, std::map<std::size_t, std::vector<std::size_t>>> groups;
  for (const std::size_t i : members) groups[far.find(i)][near.find(i)].push_back(i);
  std::vector<Slot> slots;
  for (const auto& [outer, inner] : groups) {
    Slot bridge{Slot::Kind::bridge, -1, 0, {}};
    for (const auto& [first, devices] : inner) {
      Slot under{Slot::Kind::bridge, -1, 0, {}};
      for (const std::size_t i : devices) under.children.push_back(leaf(m, i));
      bridge.children.push_back(std::move(under));
    }
    slots.push_back(std::move(bridge));
  }
  return slots;
}

void place_on_sockets(const TopoMatrix& m, ImportedHost& host) {
  Sets sets = joined(m, Kind::node);
  std::map<std::string, std::size_t> numa;
  bool apart = false;
  for (std::size_t i = 0; i < m.names.size(); ++i) {
    if (m.numa[i].empty()) continue;
    const auto [first, is_new] = numa.emplace(m.numa[i], i);
    if (is_new) continue;
    apart = apart || m.at(first->second, i).kind == Kind::sys;
    sets.join(first->second, i);
  }
  if (apart) host.assumed.push_back("devices of one NUMA node that the matrix puts SYS apart are on one socket");
  std::map<std::size_t, std::vector<std::size_t>> sockets;
  for (std::size_t i = 0; i < m.names.size(); ++i) sockets[sets.find(i)].push_back(i);
  std::vector<std::size_t> lonely;
  for (const auto& [first, members] : sockets) {
    const bool ports_only = std::none_of(members.begin(), members.end(), [&](std::size_t i) { return m.is_gpu(i); });
    if (ports_only && sockets.size() > 1)
      lonely.insert(lonely.end(), members.begin(), members.end());
    else
      host.sockets.push_back(socket_of(m, members));
  }
  if (lonely.empty()) return;
  host.assumed.push_back("network ports that are SYS away from every GPU are on a socket of their own");
  host.sockets.push_back(socket_of(m, lonely));
}

// Either every GPU that has NVLinks is joined to NVSwitches, or the NVLinks lead from GPU to GPU: then no GPU has more
// than 18 of them.
void read_nvlinks(const TopoMatrix& m, ImportedHost& host) {
  constexpr int most_nvlinks = 18;
  int most = 0;
  std::vector<int> sum(m.names.size()), highest(m.names.size());
  for (std::size_t a = 0; a < m.names.size(); ++a)
    for (std::size_t b = 0; b < m.names.size(); ++b) {
      const int links = m.at(a, b).kind == Kind::nvlink ? m.at(a, b).links : 0;
      sum[a] += links;
      highest[a] = std::max(highest[a], links);
      most = std::max(most, sum[a]);
    }
  host.crossbar.assign(static_cast<std::size_t>(host.gpus), 0);
  for (std::size_t a = 0; a < m.names.size(); ++a) {
    if (!m.is_gpu(a)) continue;
    if (most > most_nvlinks) {
      host.crossbar[static_cast<std::size_t>(m.number[a])] = highest[a];
      continue;
    }
    for (std::size_t b = 0; b < m.names.size(); ++b)
      if (m.is_gpu(b) && m.number[a] < m.number[b] && m.at(a, b).kind == Kind::nvlink)
        host.pairs.push_back({m.number[a], m.number[b], m.at(a, b).links});
  }
}

const GpuTraits& guess_gpu(ImportedHost& host) {
  const int crossbar = host.crossbar.empty() ? 0 : *std::max_element(host.crossbar.begin(), host.crossbar.end());
  int bonded = 0;
  for (const auto& pair : host.pairs) bonded = std::max(bonded, pair[2]);
  const char* name = crossbar >= 18                      ? "h100-sxm"
                     : crossbar == 6                     ? "v100-sxm2-32gb"
                     : crossbar > 0                      ? "a100-sxm-80gb"
                     : bonded == 4 && host.ports.empty() ? "rtx-3090"
                     : bonded >= 3                       ? "a100-sxm-80gb"
                     : bonded > 0                        ? "v100-sxm2-32gb"
                                                         : "rtx-4090";
  host.assumed.push_back(
      fmt::format("the GPU: {}, from its NVLinks; say --gpu NAME (in a scenario: gpu: NAME) if it is another", name));
  return *traits_of(name);
}

}  // namespace

std::optional<Imported> import_nvidia_smi_topo(const std::string& text, const std::filesystem::path& file,
                                               const std::string& gpu, Problems& problems) {
  const std::size_t before = problems.all().size();
  const auto matrix = read_topo_matrix(text, file.string(), problems);
  if (!matrix) return std::nullopt;
  check_consistent(*matrix, joined(*matrix, Kind::pxb), problems);
  ImportedHost host;
  for (std::size_t i = 0; i < matrix->names.size(); ++i) {
    host.gpus += matrix->is_gpu(i) ? 1 : 0;
    if (!matrix->is_gpu(i)) host.ports.push_back(0);
  }
  read_nvlinks(*matrix, host);
  place_on_sockets(*matrix, host);
  const GpuTraits* traits = gpu.empty() ? &guess_gpu(host) : named_gpu(gpu, file, problems);
  if (problems.all().size() != before) return std::nullopt;
  return write_host(std::move(host), *traits, file, "nvidia-smi-topo");
}

}  // namespace trainwire
