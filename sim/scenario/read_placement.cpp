// `placement:` of a scenario: linear (rank i on device i), scattered or {scattered: SEED} (a random order), or the
// device of each rank.
#include <fmt/format.h>

#include <random>
#include <set>

#include "sim/scenario/read.h"

namespace trainwire {

std::vector<DeviceId> read_placement(Reader& reader, std::size_t world) {
  std::vector<DeviceId> placement(world);
  for (std::size_t i = 0; i < world; ++i) placement[i] = static_cast<DeviceId>(i);
  const Value* value = reader.raw("placement");
  if (value == nullptr || (value->kind == Value::Kind::scalar && value->scalar == "linear")) return placement;
  const Value map = reader.map_or_shorthand("placement", "kind");
  if (value->kind == Value::Kind::map || (value->kind == Value::Kind::scalar && value->scalar == "scattered")) {
    std::int64_t seed = 1;
    if (value->kind == Value::Kind::map) {
      Reader scattered(map, "placement", reader.problems());
      seed = scattered.integer("scattered", 1, 0);
      if (!scattered.has("scattered"))
        scattered.fail("scattered", "is missing", "Example: {scattered: 1}, with a seed");
      scattered.finish();
    }
    // Fisher and Yates, with a generator whose numbers the standard fixes.
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    for (std::size_t i = world; i > 1; --i) std::swap(placement[i - 1], placement[random() % i]);
    return placement;
  }
  const std::string form = fmt::format("must be linear, scattered, or a list with each of the devices 0 to {} once",
                                       world == 0 ? 0 : world - 1);
  if (value->kind != Value::Kind::list) {
    reader.fail("placement", form);
    return placement;
  }
  const std::vector<std::int64_t> devices = reader.integers("placement", 0);
  if (world == 0) return placement;
  const std::set<std::int64_t> distinct(devices.begin(), devices.end());
  if (devices.size() != world || distinct.size() != world || *distinct.rbegin() >= static_cast<std::int64_t>(world)) {
    reader.fail("placement", form);
    return placement;
  }
  for (std::size_t i = 0; i < world; ++i) placement[i] = static_cast<DeviceId>(devices[i]);
  return placement;
}

}  // namespace trainwire
