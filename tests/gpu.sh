#!/bin/sh
# On a machine with a GPU: builds, proves every kernel on it, calibrates, runs two models, and compares with predictions.
#   sh tests/gpu.sh [FOLDER]      results: FOLDER (default reports/runs/gpu), in about eight minutes on one H200
set -eu
cd "$(dirname "$0")/.."
out=${1:-reports/runs/gpu}
mkdir -p "$out"
note() { printf '\n== %s\n' "$*" | tee -a "$out/log.txt"; }

note "GPU and versions"
nvidia-smi | tee "$out/nvidia-smi.txt"
nvidia-smi topo -m > "$out/topology.txt" 2>&1 || true

note "build"
sh scenarios/setup.sh all >> "$out/log.txt" 2>&1
cmake --build build --target trainwire test_conformance test_cuda >> "$out/log.txt" 2>&1

# A failing step is noted and the next ones run all the same: one visit should show everything.
failed=0
try() {
  note "$*"
  "$@" >> "$out/log.txt" 2>&1 || { failed=1; echo "FAILED: $*" | tee -a "$out/log.txt"; }
}

note "conformance on the GPU"
build/test_conformance "[gpu]" | tee "$out/conformance.txt" || failed=1
if command -v compute-sanitizer >/dev/null; then
  try compute-sanitizer --tool memcheck --error-exitcode 1 build/test_conformance "[gpu]"
  try compute-sanitizer --tool racecheck --error-exitcode 1 build/test_conformance "[gpu]"
fi

try build/trainwire calibrate --backend cuda -o "$out"
for model in gpt2-124m llama-1b; do
  for verb in simulate execute; do
    backend=
    [ $verb = execute ] && backend="--backend cuda --steps 10"
    # shellcheck disable=SC2086
    try build/trainwire $verb scenarios/gpu-$model.yaml $backend --set "topology=$(pwd)/$out/this-machine.yaml" -o "$out/$model/$verb"
  done
  note "$model: predicted against measured"
  build/trainwire compare "$out/$model/simulate" "$out/$model/execute" | tee "$out/$model/compare.txt" || failed=1
done
note "everything is in $out"
exit $failed
