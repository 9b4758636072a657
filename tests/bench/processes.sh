#!/bin/sh
# Whole runs of `simulate`, from process start to the last written file: median wall time of five and peak memory.
#   processes.sh TRAINWIRE SOURCE_FOLDER
set -eu
trainwire=$1
scenarios=$2/scenarios
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
printf '\n%-34s %10s %10s\n' "simulate, whole process" "wall s" "peak MiB"
for name in gpt2-124m-ddp8 llama-3-8b-dgx-h100 llama-3-70b-tp8-pp4 gpt3-175b-a100-64-micro-batches; do
  for _ in 1 2 3 4 5; do
    start=$(date +%s%N)
    "$trainwire" simulate "$scenarios/$name.yaml" -q -o "$out" >/dev/null
    awk "BEGIN { print ($(date +%s%N) - $start) / 1e9 }"
  done | sort -n | sed -n 3p >"$out/wall"
  rss=$(sed -n 's/^ *"peak_rss_bytes": *\([0-9.e+-]*\).*/\1/p' "$out/report.json")
  printf '%-34s %10.3f %10.0f\n' "$name" "$(cat "$out/wall")" "$(awk "BEGIN { print $rss / 1048576 }")"
done
