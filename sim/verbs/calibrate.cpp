// trainwire calibrate: measure this machine.
#include <fmt/format.h>

#include "sim/verbs/output.h"

#ifdef TRAINWIRE_HAS_CALIBRATE
#include "backend/calibrate/calibrate.h"
#include "backend/cpu/execute.h"
#include "backend/cuda/calibrate.h"
#include "backend/cuda/load.h"
#endif

namespace trainwire {

void calibrate_options(options::options_description& description) {
  auto add = description.add_options();
  add("backend", options::value<std::string>()->value_name("NAME"), "cpu (default) or cuda: the first GPU");
  add("quick", "fewer shapes and repetitions: a few seconds");
  add("force", "measure again although the file is of today and of this machine");
}

#ifdef TRAINWIRE_HAS_CALIBRATE

namespace {

// Whether the GPU is meant; says what is missing where there is none.
bool wants_gpu(const Call& call) {
  const std::string backend = call.own.count("backend") > 0 ? call.own["backend"].as<std::string>() : "cpu";
  if (backend != "cpu" && backend != "cuda")
    throw UsageError(fmt::format("--backend {}: must be cpu or cuda", backend));
  if (backend == "cpu") return false;
  const std::string missing = cuda::why_unavailable();
  if (!missing.empty()) throw UsageError("--backend cuda: " + missing);
  return true;
}

}  // namespace

int calibrate_verb(const Call& call) {
  if (!call.overrides.empty()) throw UsageError("calibrate has no scenario: --set changes nothing here");
  cpu::CalibrateOptions chosen;
  if (!call.output.empty()) chosen.file = call.output / "this-machine.yaml";
  chosen.quick = call.own.count("quick") > 0;
  chosen.force = call.own.count("force") > 0;
  chosen.say = [&call](const std::string& text) { say(call, text); };
  const bool first = cpu::world_rank() == 0;
  const std::filesystem::path file = cpu::machine_file(chosen);
  const bool gpu = wants_gpu(call);
  if (first) OutputFolder(file.parent_path());
  if (gpu) {
    cuda::calibrate(file, chosen.quick, chosen.say);
    fmt::print("{}\n", call.json ? fmt::format("{{\"machine_file\": \"{}\"}}", file.string()) : file.string());
    return done;
  }
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
