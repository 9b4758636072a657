#!/bin/sh
# Prediction against real runs on this machine: for every scenario of this folder measures the machine, predicts, runs;
# then prints the error of each step time and their median. The machine is measured anew before each scenario, because
# a shared machine is another one a minute later.     sh scenarios/validation/run.sh [STEPS]
set -eu
cd "$(dirname "$0")/../.."
steps=${1:-15}
out=reports/runs/validation
sh scenarios/setup.sh trainwire
for scenario in scenarios/validation/*.yaml; do
  name=$(basename "$scenario" .yaml)
  echo "$name" >&2
  build/trainwire calibrate --quick --force -q >/dev/null
  build/trainwire simulate "$scenario" -o "$out/$name/simulate" -q >/dev/null
  build/trainwire execute "$scenario" -o "$out/$name/execute" --steps "$steps" -q >/dev/null
done
python3 - "$out" <<'PYTHON'
import json, pathlib, statistics, sys
rows = []
for folder in sorted(p for p in pathlib.Path(sys.argv[1]).iterdir() if (p / "execute" / "report.json").exists()):
    predicted = json.loads((folder / "simulate" / "report.json").read_text())["step_time_s"]
    report = json.loads((folder / "execute" / "report.json").read_text())
    measured, steps = report["step_time_s"], report["step_times_s"]
    rows.append((folder.name, predicted, measured, min(steps), max(steps), 100 * (predicted / measured - 1)))
print(f"{'scenario':34} {'predicted':>12} {'measured':>12} {'range of the steps':>20} {'error':>9}")
for name, predicted, measured, low, high, error in sorted(rows, key=lambda r: -abs(r[-1])):
    print(f"{name:34} {predicted*1e3:9.1f} ms {measured*1e3:9.1f} ms {low*1e3:9.1f} - {high*1e3:5.1f} ms {error:+7.1f} %")
print(f"median absolute error of {len(rows)} scenarios: {statistics.median(abs(r[-1]) for r in rows):.1f} %")
PYTHON
