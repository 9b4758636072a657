// What a run starts from: initial parameters and the training data, both made up from the scenario's seed, the same
// numbers however the work is shared out.
#pragma once
#include "backend/cpu/arena.h"
#include "backend/cpu/shard.h"
#include "sim/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace trainwire::cpu {

// Each element ~ init_mean + init_std · N(0,1), from the seed, the parameter's number and the element's global index.
void initial_parameters(const Plan& plan, const Program& program, const Coordinates& at, std::int64_t seed,
                        const Arena& arena);

// Fills the input buffers for one step. Replica d, micro-batch m holds the sequences from (d·micro_batches + m)·B on.
// Sequences follow a rule that can be learnt: the next token is a function of the current one, nine times out of ten.
// Images and feature vectors: one pattern a class, and noise.
void input_data(const Scenario& scenario, const Plan& plan, const Program& program, const Coordinates& at,
                std::int64_t step, const Arena& arena);

}  // namespace trainwire::cpu
