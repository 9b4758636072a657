// Training with the CUDA backend's own streams, events, layout and kernels, on devices that are this computer's memory.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "backend/common/shard.h"
#include "backend/cuda/host/device.h"
#include "backend/cuda/run.h"
#include "tests/scenarios.h"

namespace trainwire::test {

struct Trained {
  std::vector<double> loss;
  std::vector<std::vector<float>> parameters;  // by Plan::parameters, whole
};

// All ranks of the plan in this process; `seed`: in which order work that is ready runs.
inline Trained train_on_host(const Scenario& s, const Plan& plan, unsigned seed, int steps = 3) {
  cuda::HostWorld world(seed);
  std::vector<std::unique_ptr<cuda::HostDevice>> devices;
  std::vector<std::unique_ptr<cuda::DeviceRank>> ranks;
  std::map<cuda::GroupKey, cuda::UniqueId> ids;
  for (Rank r = 0; r < plan.mesh.size(); ++r) {
    devices.push_back(std::make_unique<cuda::HostDevice>(world));
    ranks.push_back(std::make_unique<cuda::DeviceRank>(*devices.back(), s, plan, r));
    ranks.back()->prepare();
    for (const cuda::GroupKey& key : cuda::groups_of(plan, r))
      if (key.first == r) ids[key] = devices.back()->unique_id();
  }
  for (const auto& rank : ranks) rank->connect(ids, 1);
  Trained result;
  for (int step = 0; step < steps; ++step) {
    for (const auto& rank : ranks) rank->load_inputs(step);
    for (const auto& rank : ranks) rank->enqueue(step + 1, step % 2 == 0);
    world.run();
    result.loss.push_back(0);
    for (Rank r = 0; r < plan.mesh.size(); ++r)
      if (plan.mesh.coordinate(r, Axis::tensor) == 0) result.loss.back() += ranks[static_cast<std::size_t>(r)]->loss();
  }
  for (const ModelParameter& p : plan.parameters)
    result.parameters.emplace_back(static_cast<std::size_t>(p.shape.elements()));
  for (Rank r = 0; r < plan.mesh.size(); ++r)
    for_each_owned_run(
        plan, r,
        [&](BufferId b, std::int32_t parameter, std::int64_t local, std::int64_t global, std::int64_t n) {
          const std::vector<float> values = ranks[static_cast<std::size_t>(r)]->values(b);
          std::copy_n(values.data() + local, n, result.parameters[static_cast<std::size_t>(parameter)].data() + global);
        });
  return result;
}

}  // namespace trainwire::test
