// trainwire calibrate: measure this machine.
#include <fmt/format.h>

#include "sim/verbs/output.h"

#ifdef TRAINWIRE_HAS_CALIBRATE
#include "backend/calibrate/calibrate.h"
#include "backend/cpu/execute.h"
#endif

namespace trainwire {

void calibrate_options(options::options_description& description) {
  auto add = description.add_options();
  add("quick", "fewer shapes and repetitions: a few seconds");
  add("force", "measure again although the file is of today and of this machine");
}

#ifdef TRAINWIRE_HAS_CALIBRATE

int calibrate_verb(const Call& call) {
  if (!call.overrides.empty()) throw UsageError("calibrate has no scenario: --set changes nothing here");
  cpu::CalibrateOptions chosen;
  if (!call.output.empty()) chosen.file = call.output / "this-machine.yaml";
  chosen.quick = call.own.count("quick") > 0;
  chosen.force = call.own.count("force") > 0;
  chosen.say = [&call](const std::string& text) { say(call, text); };
  const bool first = cpu::world_rank() == 0;
  const std::filesystem::path file = cpu::machine_file(chosen);
  if (first) OutputFolder(file.parent_path());
  const int status = cpu::calibrate(chosen, call.command);
  if (status == done && !cpu::is_rank())
    fmt::print("{}\n", call.json ? fmt::format("{{\"machine_file\": \"{}\"}}", file.string()) : file.string());
  return status;
}

#else

int calibrate_verb(const Call&) {
  throw UsageError(
      "this build cannot calibrate: it was made without MPI or Eigen. Install them (Debian, Ubuntu: apt install "
      "libopenmpi-dev openmpi-bin libeigen3-dev), then configure again with -DTRAINWIRE_MPI=ON and build");
}

#endif

}  // namespace trainwire
