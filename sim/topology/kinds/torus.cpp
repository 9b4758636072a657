// Devices in a ring, a 2-D or a 3-D torus, each wired to its neighbours, which pass traffic on (TPU-like).
//   size: [4, 4, 4]             devices each way; their product is `gpus`
//   link: {…}                   one cable, each way
// Two devices in a row are joined by one cable, not two.
#include <fmt/format.h>

#include "sim/topology/shelf.h"

namespace trainwire {

void build_torus(Reader& host, HostGraph& graph) {
  const Link cable = read_link(host, "link", LinkClass::nvlink);
  const auto size = host.integers("size", 1);
  read_nics(host, graph);
  attach_nics_by_number(graph);
  std::int64_t product = 1;
  for (const std::int64_t n : size) product = product > 4096 ? product : product * n;
  if (size.empty() || size.size() > 3 || product != graph.devices)
    return host.fail("size", fmt::format("must be one to three numbers whose product is gpus = {}", graph.devices),
                     "Example: [4, 4, 4] for 64");
  std::int64_t stride = 1;
  for (const std::int64_t n : size) {
    for (int device = 0; device < graph.devices; ++device) {
      const std::int64_t at = device / stride % n;
      if (n == 1 || (n == 2 && at == 1)) continue;
      const auto next = static_cast<int>(device + ((at + 1) % n - at) * stride);
      graph.add_link(device, next, fmt::format("gpu{}-gpu{}", device, next), cable);
      graph.add_link(next, device, fmt::format("gpu{}-gpu{}", next, device), cable);
    }
    stride *= n;
  }
  graph.devices_pass = true;
  graph.relay = true;
}

}  // namespace trainwire
