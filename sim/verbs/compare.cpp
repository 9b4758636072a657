// trainwire compare: two result folders, operation by operation.
#include "sim/result/compare.h"

#include <fmt/format.h>

#include "sim/verbs/output.h"

namespace trainwire {

namespace fs = std::filesystem;

namespace {

// Beside the measured results, unless -o says otherwise.
fs::path comparison_folder(const Call& call) {
  if (!call.output.empty()) return call.output;
  std::error_code error;
  const fs::path measured = fs::weakly_canonical(call.positional[1], error);
  const fs::path run = measured.filename() == "report.json" ? measured.parent_path() : measured;
  return (run.parent_path() / "compare").lexically_proximate(fs::current_path(error));
}

}  // namespace

int compare_verb(const Call& call) {
  if (!call.overrides.empty()) throw UsageError("compare has no scenario: --set changes nothing here");
  const Comparison comparison = compare(call.positional[0], call.positional[1]);
  const OutputFolder folder(comparison_folder(call));
  write_comparison(folder.path(), comparison);
  fmt::print("{}\n", call.json ? to_json(comparison) : to_text(comparison));
  say(call, fmt::format("results: {}", folder.path().string()));
  return done;
}

}  // namespace trainwire
