#!/bin/sh
# Makes sure of the set-up, builds everything and runs the whole test suite.
#   sh tests/run.sh            all tests, then the unit tests again under AddressSanitizer and UBSan
#   sh tests/run.sh -L unit    arguments go to ctest; only the optimised build
set -eu
cd "$(dirname "$0")/.."
sh scenarios/setup.sh all
if [ $# -gt 0 ]; then
  exec ctest --test-dir build --output-on-failure "$@"
fi
# The sanitised build is also the one without SimGrid and MPI: it shows that such a build works.
cmake --preset asan -G Ninja >/dev/null
cmake --build build-asan >/dev/null
ctest --test-dir build-asan --output-on-failure -L unit
ctest --test-dir build --output-on-failure
