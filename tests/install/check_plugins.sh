#!/usr/bin/env bash
# check_plugins.sh BUILD CXX [OTHER_CXX]: plugins that use the shared library or contain the archive, made by both compilers and with hidden
# names, are loaded, run on the main thread or on another one, and unloaded: alone, two of them at once, and in a program that uses the
# library itself.
set -euo pipefail
build=$1 cxx=$2 other=${3:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf 'plugins: %s\n' "$*" >&2; exit 1; }

export TILEWRIGHT_CACHE=$work/cache
flags=(-std=c++20 -O1 -fPIC)
for layer in tileir runtime frontend; do flags+=("-I$here/../../$layer/include"); done
grep -q '^TILEWRIGHT_LIBCXX:BOOL=ON' "$build/CMakeCache.txt" && flags+=(-DTILEWRIGHT_LIBCXX -stdlib=libc++)
grep -q '^TILEWRIGHT_GLIBCXX_DEBUG:BOOL=ON' "$build/CMakeCache.txt" && flags+=(-DTILEWRIGHT_GLIBCXX_DEBUG -D_GLIBCXX_DEBUG)
shared=(-L"$build/lib" -Wl,-rpath,"$build/lib" -ltilewright)
archive=$build/lib/libtilewright.a
kinds=(plain hidden)
"$cxx" "${flags[@]}" -c "$here/plugins/plugin.cpp" -o "$work/plain.o"
"$cxx" "${flags[@]}" -fvisibility=hidden -fvisibility-inlines-hidden -c "$here/plugins/plugin.cpp" -o "$work/hidden.o"
if [ -n "$other" ] && command -v "$other" >/dev/null; then
  "$other" "${flags[@]}" -c "$here/plugins/plugin.cpp" -o "$work/other.o"
  kinds+=(other)
fi
"$cxx" -std=c++20 "$here/plugins/host.cpp" -o "$work/host" -pthread -ldl
"$cxx" -std=c++20 -DUSES_THE_LIBRARY "$here/plugins/host.cpp" "$work/plain.o" -o "$work/host_with_library" "${shared[@]}" -pthread -ldl

run() {  # HOST MODE PLUGIN...
  local status=0
  timeout 120 "$work/$1" "$2" "${@:3}" >"$work/log" 2>&1 || status=$?
  [ $status = 0 ] || { cat "$work/log" >&2; fail "$1 $2 ${*:3} ended with $status"; }
}

for kind in "${kinds[@]}"; do
  "$cxx" -shared "$work/$kind.o" -o "$work/${kind}_shared.so" "${shared[@]}"
  [ -e "$archive" ] || continue
  "$cxx" -shared "$work/$kind.o" -o "$work/${kind}_static.so" "$archive" -pthread -ldl -lrt -lm -Wl,--build-id
  cp "$work/${kind}_static.so" "$work/${kind}_static_2.so"
done
if [ -e "$archive" ]; then
  # A dynamic linker unites the kernels of an inline function of the user, and each copy of the library refuses those of another one.
  "$cxx" "${flags[@]}" -DLINKAGE=inline -c "$here/plugins/plugin.cpp" -o "$work/inline.o"
  "$cxx" -shared "$work/inline.o" -o "$work/inline.so" "$archive" -pthread -ldl -lrt -lm -Wl,--build-id
  cp "$work/inline.so" "$work/inline_2.so"
  run host main "$work/inline.so"
  readelf -Ws "$work/inline.so" >"$work/symbols"
  if grep -q ' UNIQUE .*doubling' "$work/symbols"; then
    "$work/host" main "$work/inline.so" "$work/inline_2.so" >"$work/log" 2>&1 && fail "a kernel of another copy of the library was launched"
    grep -q "another copy of the library made this kernel" "$work/log" || { cat "$work/log" >&2; fail "a kernel of another copy has no word"; }
  fi
fi
for mode in main thread; do
  for kind in "${kinds[@]}"; do
    run host $mode "$work/${kind}_shared.so"
    run host_with_library $mode "$work/${kind}_shared.so"
    [ -e "$archive" ] || continue
    run host $mode "$work/${kind}_static.so"
    run host $mode "$work/${kind}_static.so" "$work/${kind}_static_2.so"
    run host $mode "$work/${kind}_shared.so" "$work/${kind}_static.so"
    run host_with_library $mode "$work/${kind}_static.so"
  done
done
