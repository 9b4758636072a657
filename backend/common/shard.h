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

// The same for a tensor that holds one parameter or several end to end (Tensor::flat): padding is left out.
using VisitParameter =
    std::function<void(const Tensor& parameter, std::int64_t local, std::int64_t global, std::int64_t count)>;
void for_each_parameter_run(const Program& program, const Tensor& tensor, const Coordinates& at,
                            const VisitParameter& visit);

// The rank's part of each parameter that a flat tensor holds: elements [local, local + count) of the rank's tensor.
using VisitPiece = std::function<void(const Tensor& parameter, std::int64_t local, std::int64_t count)>;
void for_each_piece(const Program& program, const Tensor& flat, const Coordinates& at, const VisitPiece& visit);

// The first element of a flat tensor that the rank's shard holds.
std::int64_t first_of_shard(const Tensor& flat, const Coordinates& at);

// Whether this buffer is where a rank keeps parameters: whole ones, or shards of flat tensors.
bool keeps_parameters(const Program& program, BufferId b);

// What this rank answers for, so that each element of the model has exactly one holder: its parameters where it is the
// first replica, first stage that has the parameter, and first tensor rank where it is not divided.
using VisitOwned = std::function<void(BufferId buffer, std::int32_t parameter, std::int64_t local, std::int64_t global,
                                      std::int64_t count)>;
void for_each_owned_run(const Plan& plan, Rank rank, const VisitOwned& visit);

}  // namespace trainwire
