#!/bin/sh
# The main job on this very machine: install and build what is missing, measure the machine, predict a training step,
# run the same plan for real, and compare. Results, pictures and one page: reports/runs/quickstart/.
set -eu
cd "$(dirname "$0")/.."
out=reports/runs/quickstart
scenario=scenarios/quickstart.yaml

say() { printf '\n== %s\n' "$1" >&2; }

say "1/6 set-up and build"
sh scenarios/setup.sh trainwire
say "2/6 calibrate: what this machine's cores and messages can do"
build/trainwire calibrate --quick >&2
say "3/6 simulate: predict the step"
build/trainwire simulate "$scenario" -o "$out/simulate" -q
say "4/6 execute: train for real on 2 ranks"
build/trainwire execute "$scenario" -o "$out/execute" -q
say "5/6 compare: predicted against measured"
build/trainwire compare "$out/simulate" "$out/execute" -o "$out"
say "6/6 pictures and page"
build/trainwire plot "$out/simulate" "$out/execute" -o "$out" >&2
printf '\nPage with all pictures: %s/index.html\n' "$out"
