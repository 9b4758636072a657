// Which elements of a whole tensor a rank holds, and who counts as the one holder of a parameter.
#pragma once
#include <array>
#include <functional>

#include "sim/plan/plan.h"

namespace trainwire {

using Coordinates = std::array<int, axis_count>;
Coordinates coordinates_of(const DeviceMesh& mesh, Rank rank);

// Which share of the step's sequences a rank works on: data and expert ranks have different ones.
std::int64_t replica_of(const DeviceMesh& mesh, const Coordinates& at);

// Calls visit(local, global, count) for every run of elements that are consecutive in both the rank's part and the
// whole tensor.
using VisitRun = std::function<void(std::int64_t local, std::int64_t global, std::int64_t count)>;
void for_each_run(const Tensor& tensor, const Coordinates& at, const VisitRun& visit);

// Positions in the whole sequence of the rows that a rank has of a tensor (B,S,…): the context axis divides the
// sequence first, the tensor axis what is left.
std::vector<std::int64_t> sequence_positions(const Tensor& tensor, const Coordinates& at, const Coordinates& degree);

// The parameters that this rank answers for, so that each element of the model has exactly one holder: the buffers of
// the first replica, first stage that has the parameter, and first tensor rank where it is not divided.
std::vector<BufferId> owned_parameters(const Plan& plan, Rank rank);

}  // namespace trainwire
