// What an importer found out about a host, on its way to one of our files (kind `server`).
#pragma once
#include <array>
#include <string>
#include <vector>

#include "sim/topology/importers.h"

namespace trainwire {

// A device or a switch of the PCIe tree.
struct Slot {
  enum class Kind { bridge, gpu, nic } kind = Kind::bridge;
  int index = -1;        // of the GPU or port
  double gigabytes = 0;  // of its link to the parent, each way, per second; 0: unknown
  std::vector<Slot> children;
};

struct ImportedHost {
  std::vector<std::vector<Slot>> sockets;
  int gpus = 0;
  std::vector<double> ports;              // network ports: Gb/s, 0: unknown
  std::vector<int> crossbar;              // by GPU: NVLinks into NVSwitches
  std::vector<std::array<int, 3>> pairs;  // GPU, GPU, NVLinks between the two
  bool nvlinks_known = true;
  double socket_gigabytes = 0;  // between sockets, each way, per second; 0: unknown
  std::string socket_source;
  std::string pcie_source;  // where `gigabytes` stands, with the units of the file
  std::vector<std::string> assumed;
};

// Facts about kinds of GPU that these files leave out.
struct GpuTraits {
  const char* name;                      // in topologies/gpu
  std::vector<const char*> pci_devices;  // PCI ID repository (pci-ids.ucw.cz), vendor 10de
  int sm;                                // compute capability times 10
  int nvlinks;                           // of one GPU; 0: none
  bool crossbar;                         // its usual hosts have NVSwitches
  double nvlink_gigabytes;               // of one NVLink, each way
  const char* nvlink_source;
  double nvlink_efficiency, nvlink_latency_us;
  const char* nvlink_measured;
  double port_gigabits;  // network ports that its usual hosts have
};
const std::vector<GpuTraits>& gpu_traits();
const GpuTraits* traits_of(const std::string& gpu);

// Fills what is unknown, with a line in `assumed` for each guess, and writes the file.
Imported write_host(ImportedHost host, const GpuTraits& gpu, const std::filesystem::path& file,
                    const std::string& importer);

// The traits of the GPU that the user named; a problem and nullptr where trainwire knows no such GPU.
const GpuTraits* named_gpu(const std::string& gpu, const std::filesystem::path& file, Problems& problems);

std::optional<Imported> import_nccl_topo(const std::string&, const std::filesystem::path&, const std::string&,
                                         Problems&);
std::optional<Imported> import_nvidia_smi_topo(const std::string&, const std::filesystem::path&, const std::string&,
                                               Problems&);

}  // namespace trainwire
