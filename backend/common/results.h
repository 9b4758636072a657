// What a run is asked for, what each rank writes down, and what rank 0 makes of it.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/common/ranks.h"
#include "sim/plan/plan.h"
#include "sim/result/timeline.h"

namespace trainwire {

struct ExecuteOptions {
  int steps = 5, warmup = 1;
  bool gather_parameters = false;  // for tests: Result::parameters
  bool measure_overhead = false;   // GPUs: a few more steps without measuring operations
};

struct Result {
  Timeline timeline;                           // complete on rank 0, empty elsewhere
  std::vector<std::vector<float>> parameters;  // by Plan::parameters, whole, on rank 0 where asked for
};

struct SpanNs {
  std::int64_t start = 0, end = 0;  // of a communication: when this rank was ready, when it was done
};

struct StepRecord {
  std::vector<SpanNs> spans;  // by OpId
  std::int64_t started = 0;
};

// One rank's run. All times are of one clock that the ranks share.
struct RunRecord {
  std::string executor;              // "cpu" | "cuda"
  std::vector<StepRecord> measured;  // without the warm-up
  std::vector<double> losses;        // of every step: this rank's micro-batches
};

// The values of a parameter's buffer, valid until the next call.
using ReadParameter = std::function<std::span<const float>(BufferId)>;

// Collective over all ranks; complete on rank 0.
Result gather_results(const Ranks& ranks, const Plan& plan, const RunRecord& record, const ReadParameter& read,
                      const ExecuteOptions& options);

}  // namespace trainwire
