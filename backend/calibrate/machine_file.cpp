#include "backend/calibrate/machine_file.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <system_error>

#include "sim/config/problems.h"
#include "sim/topology/cpu_measurements.h"

namespace trainwire::cpu {
namespace {

std::string value_after(const std::string& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.compare(0, key.size(), key) == 0) {
      const std::size_t colon = line.find(':');
      const std::size_t start = line.find_first_not_of(" \t", colon + 1);
      if (colon != std::string::npos && start != std::string::npos) return line.substr(start);
    }
  return "unknown";
}

std::string plain(std::string text) {
  std::erase_if(text, [](char c) { return c == '"' || c == '\\' || c == '\n'; });
  return text;
}

std::string first_line(const HostFacts& host) {
  return fmt::format("# measured by trainwire calibrate on {}, {}, {} cores", host.name, host.cpu, host.cores);
}

}  // namespace

HostFacts host_facts() {
  HostFacts facts;
  char name[256] = "this machine";
  gethostname(name, sizeof name - 1);
  facts.name = plain(name);
  facts.cpu = plain(value_after("/proc/cpuinfo", "model name"));
  facts.cores = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  facts.memory_bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return facts;
}

std::string to_yaml(const Machine& m) {
  const std::string measured =
      fmt::format("{}, {}, {} cores; quartiles {:.0f} % apart", m.date, m.host.cpu, m.host.cores, 100 * m.spread);
  const auto sourced = [&](const std::string& value, const std::string& how) {
    return fmt::format("{{value: {}, measured: \"{}; {}\"}}", value, how, m.date);
  };
  std::string text = first_line(m.host) + "\n";
  text += fmt::format("# {}; {:.1f} GiB; quartiles of the repetitions {:.0f} % of the median apart\n", m.date,
                      m.host.memory_bytes / (1 << 30), 100 * m.spread);
  text += "name: this-machine\nhost:\n  kind: shared-memory\n";
  text += fmt::format("  devices: {}\n  memory:\n", m.host.cores);
  text += fmt::format("    bandwidth: {}\n", sourced(fmt::format("{:.3f} GB/s", m.ranks.bandwidth * 1e-9),
                                                     "all-reduces of two ranks, by size"));
  text += fmt::format("    latency: {}\n",
                      sourced(fmt::format("{:.3f} us", m.ranks.latency * 1e6), "all-reduces of two ranks, by size"));
  text += "  device:\n    name: cpu\n    kind: cpu\n";
  text +=
      fmt::format("    memory: {}\n", sourced(fmt::format("{:.2f} GiB", m.host.memory_bytes / m.host.cores / (1 << 30)),
                                              "the host's memory over its cores"));
  text += fmt::format("    memory_bandwidth: {}\n", sourced(fmt::format("{:.2f} GB/s", m.memory_bandwidth * 1e-9),
                                                            "adding two long vectors, one core"));
  text += fmt::format("    peak: {{fp32: {}}}\n",
                      sourced(fmt::format("{:.2f} GFLOP/s", m.peak * 1e-9), "the fastest matrix product, one core"));
  text += fmt::format("    vector_rate: {}\n", sourced(fmt::format("{:.2f} GFLOP/s", m.vector_rate * 1e-9),
                                                       "gelu, 14 flops an element, one core"));
  text += fmt::format("    launch: {}\n", sourced(fmt::format("{:.3f} us", m.ranks.operation_overhead * 1e6),
                                                  "a thousand tiny operations in a row"));
  text += fmt::format("    communication_slowdown: {}\n", sourced(fmt::format("{:.3f}", m.ranks.communication_slowdown),
                                                                  "computing during all-reduces against without"));
  text += "    cpu:\n" + write_cpu_measurements(m.cpu, measured, 6);
  return text;
}

void write_machine_file(const std::filesystem::path& file, const Machine& machine) {
  const std::filesystem::path beside = file.string() + fmt::format(".{}.part", getpid());
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  std::ofstream out(beside);
  out << to_yaml(machine);
  out.close();
  if (out) std::filesystem::rename(beside, file, error);
  if (!out || error) {
    std::filesystem::remove(beside, error);
    throw ConfigError({{{file.string(), 0}, "", "", "cannot be written", "Give another file with -o"}});
  }
}

bool is_fresh(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line) || line != first_line(host_facts())) return false;
  std::error_code error;
  const auto written = std::filesystem::last_write_time(file, error);
  return !error && std::filesystem::file_time_type::clock::now() - written < std::chrono::hours(24);
}

}  // namespace trainwire::cpu
