// The timeline in the Trace Event Format that Perfetto and chrome://tracing open: a process a rank, a thread a stream.
#pragma once
#include "sim/result/files.h"
#include "sim/result/report.h"

namespace trainwire {

void write_trace(Sink&, const Scenario&, const Plan&, const Timeline&, const std::vector<MemoryPoint>& memory);

}  // namespace trainwire
