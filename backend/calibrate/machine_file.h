// The machine file: what calibrate found, as a topology of kind shared-memory.
#pragma once
#include <filesystem>
#include <string>

#include "backend/calibrate/ranks.h"

namespace trainwire::cpu {

struct HostFacts {
  std::string name, cpu;
  int cores = 1;
  double memory_bytes = 0;
};
HostFacts host_facts();

struct Machine {
  HostFacts host;
  std::string date;   // 2026-12-01T05:30
  double spread = 0;  // median of (third - first quartile) / median
  CpuMeasurements cpu;
  RankMeasurements ranks;
  double memory_bandwidth = 0, peak = 0, vector_rate = 0;
};

std::string to_yaml(const Machine& machine);
// Written beside and renamed; throws ConfigError when it cannot be.
void write_machine_file(const std::filesystem::path& file, const Machine& machine);

// The first line of a machine file tells host and date: whether it was measured here within the last day.
bool is_fresh(const std::filesystem::path& file);

}  // namespace trainwire::cpu
