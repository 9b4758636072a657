// The sections of a scenario file, each read by one function; and the checks that need several sections.
#pragma once
#include <optional>

#include "sim/config/reader.h"
#include "sim/scenario/scenario.h"

namespace trainwire {

constexpr std::int64_t max_degree = 1'000'000;
constexpr std::int64_t max_micro_batches = 10'000;  // a plan holds the operations of each

// Sizes of 0 were not given: their default depends on the model.
Training read_training(const Value& section, Problems&);

struct StrategySection {
  Strategy strategy;
  std::optional<Axis> fills;  // the axis whose degree is `auto`
  bool sound = true;          // the degrees could be read
};
StrategySection read_strategy(const Value& section, Problems&);

// `linear`, `scattered`, or the device of each rank.
std::vector<DeviceId> read_placement(Reader&, std::size_t world);
// Applies `disturbances:` to the scenario's topology.
void read_disturbances(Reader&, Scenario&, bool topology_known);
// `collectives: tree`, or by axis.
void read_collectives(Reader&, Scenario&);

int& degree_of(Strategy&, Axis);

// What `strategy.data` says beside its degree.
void read_data(Reader&, Strategy&);

// A problem found after reading, at the place where the dotted key was written (or would have been).
class Checks {
 public:
  Checks(const Value& root, Problems& problems) : root_(root), problems_(problems) {}
  void fail(const std::string& key, const std::string& value, const std::string& problem, const std::string& fix = "");
  Problems& problems() { return problems_; }

 private:
  const Value& root_;
  Problems& problems_;
};

// Degrees multiply to the number of devices; fills `auto`. False: they don't.
bool check_world(StrategySection&, const Topology&, Checks&);
// Sequence, batch and split against the model. Sets the defaults that depend on it.
void check_model(Scenario&, bool degrees_known, Checks&);
void check_pipeline(const Scenario&, bool degrees_known, Checks&);
// How sequences, heads and experts are shared out: sequence, context and expert parallelism.
void check_shares(const Scenario&, Checks&);
void check_devices(const Scenario&, Checks&);
// Which keys go with which sharding; the size of hsdp's groups. Sets that where it is not given.
void check_data(Scenario&, Checks&);

// "8" or "4 or 8": the divisors of n nearest to `wanted`.
std::string divisors_near(std::int64_t n, std::int64_t wanted);

}  // namespace trainwire
