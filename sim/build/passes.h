// The derived passes of sim/build, in the order of passes.cpp.
#pragma once
#include "sim/parallel/draft.h"

namespace trainwire {

void lower(Draft&, const Scenario&);         // the model's forward pass for one micro-batch, unsplit
void backward(Draft&, const Scenario&);      // gradients, from the last operation to the first
void clip_gradients(Draft&, const Scenario&);  // by their global norm
void optimizer(Draft&, const Scenario&);     // one update a layer, states and master weights
Plan unroll(const Draft&, const Scenario&);  // stages and micro-batches spelled out: one program a stage
// Where routing is uneven, ranks of the expert axis expect different numbers of rows: a program for each of them.
void uneven_experts(Plan&, const Scenario&);

}  // namespace trainwire
