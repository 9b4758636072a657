#!/bin/sh
# Installs what is missing to build and run trainwire (Debian, Ubuntu), configures and builds into build/ (Release).
#   sh scenarios/setup.sh [TARGET…]     default target: trainwire
# Says what it installs and why; uses sudo only where the user is not root. Does nothing that is done already.
set -eu
cd "$(dirname "$0")/.."

# package : a file that tells that it is there : what for
needed="g++:/usr/bin/g++:the compiler
cmake:/usr/bin/cmake:the build
ninja-build:/usr/bin/ninja:the build
pkg-config:/usr/bin/pkg-config:finding SimGrid
libsimgrid-dev:/usr/include/simgrid/s4u.hpp:simulation
libeigen3-dev:/usr/include/eigen3/Eigen/Core:the mathematics of real runs on CPUs
libopenmpi-dev:/usr/bin/mpicxx:messages between the ranks of real runs
openmpi-bin:/usr/bin/mpirun:starting the ranks of real runs
libboost-program-options-dev:/usr/include/boost/program_options.hpp:the command line
libyaml-cpp-dev:/usr/include/yaml-cpp/yaml.h:scenario files
nlohmann-json3-dev:/usr/include/nlohmann/json.hpp:config.json files and reports
libexpat1-dev:/usr/include/expat.h:NCCL topology files
zlib1g-dev:/usr/include/zlib.h:gzipped tables of measurements
libfmt-dev:/usr/include/fmt/format.h:text
catch2:/usr/include/catch2:the tests
python3:/usr/bin/python3:pictures
python3-matplotlib:/usr/lib/python3/dist-packages/matplotlib:pictures"

missing=""
old_ifs=$IFS
IFS='
'
for line in $needed; do
  package=${line%%:*}
  rest=${line#*:}
  if [ ! -e "${rest%%:*}" ]; then
    echo "setup: needs $package (${rest#*:})" >&2
    missing="$missing $package"
  fi
done
IFS=$old_ifs

if [ -n "$missing" ]; then
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "setup: no apt-get here: install the packages above, or their counterparts on this system, and run this again" >&2
    exit 1
  fi
  as_root=""
  [ "$(id -u)" -eq 0 ] || as_root="sudo"
  $as_root apt-get update -qq
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

[ -f build/build.ninja ] || cmake --preset release -G Ninja >&2
[ $# -gt 0 ] || set -- trainwire
cmake --build build --target "$@" >&2
