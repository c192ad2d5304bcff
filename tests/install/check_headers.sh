#!/usr/bin/env bash
# check_headers.sh [--built] CXX...: the public headers, included without -isystem, give no warning under strict flags. A C++17 compiler, and the
# standard library that the library was not built with, get one message that says so. Compilers that are not installed are skipped.
# --built: the first compiler has built tests/kernels with these flags, which stopped at a warning, and does not read those sources again.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
includes=()
for layer in tileir runtime frontend; do includes+=(-I "$layer/include"); done
read -ra strict <tests/install/strict_warnings
built=
if [ "$1" = --built ]; then
  built=$2
  shift
fi
failed=0
fail() { printf 'headers: %s\n' "$*" >&2; failed=1; }

find tileir/include runtime/include frontend/include -name "*.h" | sed "s,.*/include/\(.*\),#include <\1>," | sort >"$work/every_header.cpp"
# Templates warn where they are used: these programs use the surface widely. What they themselves warn of does not count.
sources=("$work/every_header.cpp" tests/unit/frontend/trace/surface_test.cpp tests/unit/frontend/trace/parameters_test.cpp tests/kernels/*_test.cpp docs/tutorial/0[3679]_*.cpp docs/tutorial/10_*.cpp tests/programs/tiles.cpp)

tried=0
for cxx in "$@"; do
  command -v "$cxx" >/dev/null || continue
  tried=$((tried + 1))
  for source in "${sources[@]}"; do
    if [[ $cxx == "$built" && $source == tests/kernels/* ]]; then continue; fi
    "$cxx" -std=c++20 "${strict[@]}" "${includes[@]}" -I . -fsyntax-only "$source" 2>"$work/log" || fail "$cxx does not compile $source: $(cat "$work/log")"
    warnings=$(grep -E '^[^ ]*include/tilewright/[^ ]*: warning:' "$work/log" | sort -u) || continue
    fail "$cxx warns of headers in $source:"$'\n'"$warnings"
  done
  "$cxx" -std=c++17 "${includes[@]}" -fsyntax-only tests/install/consumer/consumer.cpp 2>"$work/log" && fail "$cxx takes the headers as C++17"
  grep -q 'tilewright needs C++20' "$work/log" || fail "$cxx: no message that C++20 is needed"

  # Clang has a second standard library, where it is installed.
  echo '#include <version>' | "$cxx" -stdlib=libc++ -std=c++20 -fsyntax-only -x c++ - 2>/dev/null || continue
  "$cxx" -stdlib=libc++ -DTILEWRIGHT_LIBCXX -std=c++20 "${includes[@]}" -fsyntax-only tests/install/consumer/consumer.cpp || fail "libc++"
  "$cxx" -stdlib=libc++ -std=c++20 "${includes[@]}" -fsyntax-only tests/install/consumer/consumer.cpp 2>"$work/log" && fail "libc++ is taken for libstdc++"
  grep -q 'the library was built with libstdc++' "$work/log" || fail "no message that the standard library is another one"
done
[ "$tried" -gt 0 ] || fail "no compiler of: $*"
exit "$failed"
