#!/bin/sh
# Every header compiles alone (those of the CUDA plug-in where the Toolkit is: when it is built).   headers.sh COMPILER FLAGS…
set -u
cd "$(dirname "$0")/../.."
messages=$(mktemp)
mpi=$(mpicxx -showme:compile 2>/dev/null)
# shellcheck disable=SC2086,SC2016
find sim backend -name '*.h' -not -path '*/cuda/plugin/*' | sort | xargs -P 2 -I HEADER sh -c '
  header=$1; shift
  printf "#include \"%s\"\n" "$header" |
    "$@" -std=c++20 -O0 -I. -isystem /usr/include/eigen3 -fsyntax-only -x c++ - 2>&1 | sed "s|^|$header: |"
' check HEADER "$@" $mpi >"$messages"
if grep -q 'error' "$messages"; then
  grep 'error' "$messages"
  rm -f "$messages"
  exit 1
fi
rm -f "$messages"
echo "every header compiles alone"
