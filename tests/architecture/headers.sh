#!/bin/sh
# Every header compiles alone.   headers.sh COMPILER FLAGS…
set -u
cd "$(dirname "$0")/../.."
failed=0
for header in $(find sim backend -name '*.h' | sort); do
  if ! printf '#include "%s"\n' "$header" | "$@" -std=c++20 -I. -fsyntax-only -isystem /usr/include/eigen3 $(mpicxx -showme:compile 2>/dev/null) -x c++ - 2>/tmp/headers.$$; then
    echo "$header:1: does not compile alone"
    head -n 5 /tmp/headers.$$
    failed=1
  fi
done
rm -f /tmp/headers.$$
[ $failed -eq 0 ] && echo "every header compiles alone"
exit $failed
