#!/bin/sh
# Fuzzes both importers with libFuzzer under AddressSanitizer and UndefinedBehaviorSanitizer; needs clang++.
#   sh tests/fuzz/run.sh [SECONDS]     seconds for each, default 300. The corpus is kept in build/fuzz/.
# The same property is tested without clang, by seeded mutations, in tests/topology/importers_test.cpp.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-300}
if ! command -v clang++ >/dev/null 2>&1; then
  echo "fuzz: SKIPPED: no clang++ here" >&2
  exit 77
fi
mkdir -p build/fuzz
for name in nccl_topo nvidia_smi_topo; do
  clang++ -std=c++20 -O1 -g -w -I. -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
    tests/fuzz/$name.cpp sim/config/problems.cpp sim/config/parse_xml.cpp sim/config/text_file.cpp \
    sim/topology/importers/*.cpp -o build/fuzz/$name -lfmt -lexpat
  mkdir -p build/fuzz/$name.corpus
  build/fuzz/$name -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=1024 -timeout=10 -print_final_stats=1 \
    build/fuzz/$name.corpus tests/fuzz/corpus/$name
done
