// Predicted against published NCCL measurements: one set of parameters a machine, the error of each kind of collective.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>

#include "sim/collective/collective.h"
#include "tests/topology/support.h"

using namespace trainwire;

namespace {

struct Errors {
  double sum = 0;
  int count = 0;
  void add(double predicted, double measured) {
    sum += std::abs(predicted / measured - 1);
    ++count;
  }
  double percent() const { return count == 0 ? 0 : 100 * sum / count; }
};

}  // namespace

TEST_CASE("collectives on one host take what NCCL was measured to take") {
  const std::filesystem::path folder =
      std::filesystem::path(TRAINWIRE_SOURCE_DIR) / ".." / "shared" / "measurements" / "nccl";
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    WARN("SKIPPED: no ../shared/measurements beside the checkout: collectives were not scored");
    return;
  }
  const std::map<std::string, OpKind> kinds{{"all_reduce", OpKind::all_reduce},
                                            {"all_gather", OpKind::all_gather},
                                            {"reduce_scatter", OpKind::reduce_scatter}};
  std::string table = "MAPE, percent: 1 MiB and more / less\n";
  for (const auto& [file, machine] :
       {std::pair{"a100_sxm", "dgx-a100"}, std::pair{"h100_sxm", "dgx-h100"}, std::pair{"h200_sxm", "dgx-h200"}}) {
    const Topology t = topology_of(machine);
    std::map<std::string, Errors> large, small;
    std::ifstream rows(folder / (std::string(file) + ".csv"));
    std::string line;
    std::getline(rows, line);  // op,gpus,message_size,dtype,latency_us; the size counts elements
    while (std::getline(rows, line)) {
      std::replace(line.begin(), line.end(), ',', ' ');
      std::istringstream cells(line);
      std::string op, type;
      int gpus = 0;
      double elements = 0, microseconds = 0;
      cells >> op >> gpus >> elements >> type >> microseconds;
      if (!kinds.contains(op) || !(microseconds > 0)) continue;
      const double bytes = elements * (type == "half" ? 2 : 1);
      std::vector<DeviceId> devices(static_cast<std::size_t>(gpus));
      std::iota(devices.begin(), devices.end(), 0);
      const OpKind kind = kinds.at(op);
      const double predicted = alone(choose_algorithm(kind, devices, bytes, t).flow(kind, devices, bytes, t), t).value;
      (bytes >= 1 << 20 ? large : small)[op].add(1e6 * predicted, microseconds);
    }
    table += machine;
    for (const auto& [op, kind] : kinds) {
      std::ostringstream cell;
      cell.precision(3);
      cell << "  " << op << " " << large[op].percent() << " / " << small[op].percent();
      table += cell.str();
      CHECK(large[op].percent() < 20);
      CHECK(small[op].percent() < 15);
    }
    table += "\n";
    CHECK(large["all_reduce"].percent() < 12);
  }
  WARN(table);
}
