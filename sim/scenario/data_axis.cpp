// The data axis of a scenario file: what replicas share out, and which keys go with which sharding.
#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/names.h"
#include "sim/scenario/read.h"

namespace trainwire {
namespace {

constexpr Named<Sharding> shardings[] = {{"none", Sharding::none},   {"zero1", Sharding::zero1},
                                         {"zero2", Sharding::zero2}, {"zero3", Sharding::zero3},
                                         {"fsdp", Sharding::fsdp},   {"hsdp", Sharding::hsdp}};

bool shards_parameters(Sharding s) { return s == Sharding::zero3 || s == Sharding::fsdp || s == Sharding::hsdp; }

// The largest divisor of the degree whose group stays on one node.
int ranks_of_a_node(const Scenario& s) {
  std::int64_t inner = 1;
  for (const Axis axis : s.strategy.order) {
    if (axis == Axis::data) break;
    Strategy copy = s.strategy;
    inner *= degree_of(copy, axis);
  }
  const auto& devices = s.topology.devices;
  const std::int64_t node =
      std::count_if(devices.begin(), devices.end(), [&](const Device& d) { return d.node == devices[0].node; });
  int shard = 1;
  for (int d = 1; d <= s.strategy.data.degree; ++d)
    if (s.strategy.data.degree % d == 0 && d * inner <= node) shard = d;
  return shard;
}

void check_no_sync(const Scenario& s, Checks& checks) {
  const auto& data = s.strategy.data;
  if (!data.no_sync) return;
  const bool once = *data.no_sync;
  if ((data.sharding == Sharding::zero2 || data.sharding == Sharding::zero3) && once)
    checks.fail("strategy.data.no_sync", "true",
                "would keep whole gradients over the micro-batches, which this sharding is there to avoid",
                "Leave it out, or use sharding zero1 or fsdp");
  if ((data.sharding == Sharding::none || data.sharding == Sharding::zero1) && !once)
    checks.fail("strategy.data.no_sync", "false",
                "is not supported without sharded gradients: they are reduced once a step, as frameworks do",
                "Leave it out, or use sharding zero2");
}

}  // namespace

void read_data(Reader& reader, Strategy& s) {
  auto& data = s.data;
  data.sharding = read_name<Sharding>(reader, "sharding", shardings, data.sharding);
  data.bucket = reader.quantity<Bytes>("bucket", data.bucket);
  data.overlap = reader.flag("overlap", data.overlap);
  const bool has_prefetch = reader.has("prefetch"), has_reshard = reader.has("reshard_after_forward");
  data.prefetch = static_cast<int>(reader.integer("prefetch", data.prefetch, 0, 1000));
  const bool reshard = reader.flag("reshard_after_forward", true);
  if (has_reshard) data.reshard_after_forward = reshard;
  const bool has_no_sync = reader.has("no_sync");
  const bool no_sync = reader.flag("no_sync", false);
  if (has_no_sync) data.no_sync = no_sync;
  const bool has_shard = reader.has("shard");
  data.shard = static_cast<int>(reader.integer("shard", 0, 0, max_degree));
  if (!shards_parameters(data.sharding)) {
    const std::string problem = "has a meaning only where parameters are sharded",
                      fix = "Use sharding zero3, fsdp or hsdp";
    if (has_prefetch) reader.fail("prefetch", problem, fix);
    if (has_reshard) reader.fail("reshard_after_forward", problem, fix);
  }
  if (has_shard && data.sharding != Sharding::hsdp)
    reader.fail("shard", "is the size of hsdp's groups and has no meaning here", "Use sharding hsdp, or leave it out");
}

void check_data(Scenario& s, Checks& checks) {
  auto& data = s.strategy.data;
  check_no_sync(s, checks);
  if (data.sharding != Sharding::hsdp) return;
  if (data.shard == 0) data.shard = ranks_of_a_node(s);
  if (data.degree % data.shard == 0) return;
  checks.fail("strategy.data.shard", std::to_string(data.shard),
              fmt::format("must divide the data degree {}", data.degree),
              fmt::format("Try {}", divisors_near(data.degree, data.shard)));
  data.shard = 1;
}

}  // namespace trainwire
