#!/usr/bin/env bash
# check_install.sh BUILD CXX [FLAG...]: installs a build into a new folder and builds a program against it with CMake and with pkg-config.
# Checks the shared library's dependencies and exported symbols.
set -euo pipefail
build=$1 cxx=$2
shift 2
flags="$*"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf 'install: %s\n' "$*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix"  # a package that only works where it was put is broken
prefix=$work/prefix
library=$(find "$prefix" -name 'libtilewright.so' | head -n 1)
[ -n "$library" ] || fail "no libtilewright.so"
for text in LICENSE LLVM.txt fmt.txt zlib.txt zstd.txt; do
  [ -s "$prefix/share/licenses/tilewright/$text" ] || fail "no licence $text"
done
[ -s "$prefix/include/tilewright/tilewright.h" ] || fail "no tilewright/tilewright.h"

if [ -e "$build/bin/tilewright" ]; then
  "$prefix/bin/tilewright" --version >/dev/null || fail "the program tilewright does not start"
  needs=$(ldd "$prefix/bin/tilewright")
  grep -q "libtilewright.so.* => $prefix/" <<<"$needs" || fail "the program tilewright does not use the library beside it"
  if nm -C "$prefix/bin/tilewright" 2>/dev/null | grep ' llvm::' >/dev/null; then fail "the program tilewright has a second copy of LLVM"; fi
  [ -s "$prefix/share/man/man1/tilewright.1" ] || fail "no manual page"
fi

if grep -rnE '#include *[<"](llvm|fmt|CLI|doctest)' "$prefix/include"; then fail "a public header includes a dependency"; fi
if ldd "$library" | grep -E 'LLVM|libz3|libxml2|libtinfo|libedit|libz\.|libzstd|not found'; then
  # The library that shares LLVM needs all that LLVM needs.
  grep -q '^TILEWRIGHT_SHARED_LLVM:BOOL=ON' "$build/CMakeCache.txt" || fail "the library needs these"
fi
archive=$(dirname "$library")/libtilewright.a
if [ -e "$archive" ]; then
  # The archive has the names for users that the library has, and no other.
  public() { nm "$@" | awk 'NF == 3 && $2 != "A" && $3 !~ /@TILEWRIGHT_PRIVATE/ {sub(/@.*/, "", $3); print $3}' | sort -u; }
  diff <(public -D --defined-only --with-symbol-versions "$library") <(public -g --defined-only "$archive") >&2 ||
    fail "the archive and the shared library do not show the same names"
elif grep -qs '^build tilewright_archive:' "$build/build.ninja"; then
  fail "no libtilewright.a"
fi
exported=$(nm -DC --defined-only "$library" | cut -d' ' -f3-)
grep -q '^tilewright::Device::open' <<<"$exported" || fail "tilewright::Device::open is not exported"
grep -q '^typeinfo for tilewright::Error' <<<"$exported" || fail "tilewright::Error cannot cross the library's border"
foreign=$(grep -vE '^(((typeinfo|typeinfo name|vtable|guard variable) for )?tilewright::|TILEWRIGHT_)' <<<"$exported" || true)
internal=$(grep -E '^((typeinfo|typeinfo name|vtable|guard variable) for )?tilewright::(ir|graph|passes|backend|rt)::' <<<"$exported" |
  grep -v '@@TILEWRIGHT_PRIVATE_' || true)
[ -z "$foreign$internal" ] || fail "the library exports what is not for users: $(head -n 5 <<<"$foreign$internal")"

# Without the build ids that many compilers ask for by themselves: what contains the archive must get one from the package.
no_id=-Wl,--build-id=none
has_build_id() { readelf -n "$1" | grep -q 'Build ID' || fail "$2 has no build id, without which there is no disk cache"; }
cmake -S "$here/consumer" -B "$work/cmake" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_EXE_LINKER_FLAGS="$no_id" >"$work/log" || { cat "$work/log"; fail "find_package"; }
cmake --build "$work/cmake" >"$work/log" || { cat "$work/log"; fail "the consumer does not build through CMake"; }
"$work/cmake/consumer"
if [ -e "$work/cmake/static_consumer" ]; then
  "$work/cmake/static_consumer"
  has_build_id "$work/cmake/static_consumer" "a program with tilewright::static"
elif [ -e "$archive" ]; then
  fail "no target tilewright::static"
fi

if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig
  grep -q -- '-std' <<<"$(pkg-config --cflags tilewright)" && fail "the pkg-config file chooses the user's -std"
  # shellcheck disable=SC2046,SC2086
  "$cxx" $flags -std=c++20 "$here/consumer/consumer.cpp" -o "$work/consumer" $(pkg-config --cflags --libs tilewright)
  LD_LIBRARY_PATH=$(dirname "$library") "$work/consumer"
  if [ -e "$archive" ]; then
    # shellcheck disable=SC2046,SC2086
    "$cxx" $flags $no_id -static -std=c++20 "$here/consumer/consumer.cpp" -o "$work/consumer" $(pkg-config --static --cflags --libs tilewright) \
      2>"$work/log" || { cat "$work/log"; fail "a wholly static program does not build"; }
    "$work/consumer"
    has_build_id "$work/consumer" "a wholly static program"
  fi
fi
