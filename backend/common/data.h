// What a run starts from: initial parameters and the training data, both made up from the scenario's seed, the same
// numbers however the work is shared out.
#pragma once
#include "backend/common/shard.h"
#include "sim/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace trainwire {

// The rank's part of a parameter, or its shard of several (keeps_parameters), fp32. Each element ~ init_mean + init_std · N(0,1), from the seed, the parameter's
// number and the element's global index.
void initial_parameter(const Plan& plan, const Program& program, const Tensor& tensor, const Coordinates& at,
                       std::int64_t seed, float* values);

// Fills an input buffer (category input) for one step: fp32, or int32 where its tensor says so.
// Replica d, micro-batch m holds the sequences from (d·micro_batches + m)·B on.
// Sequences follow a rule that can be learnt: the next token is a function of the current one, nine times out of ten.
// Images and feature vectors: one pattern a class, and noise.
void input_values(const Scenario& scenario, const Plan& plan, const Program& program, BufferId buffer,
                  const Coordinates& at, std::int64_t step, void* values);

}  // namespace trainwire
