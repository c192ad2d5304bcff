#!/usr/bin/env bash
# check_package.sh BUILD CXX: makes the tarball and the Debian package, unpacks both into new folders and builds and runs a program on each,
# with the shared library and with the archive.
set -euo pipefail
build=$1 cxx=$2
consumer=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/consumer/consumer.cpp
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf 'package: %s\n' "$*" >&2; exit 1; }

generators=TGZ
command -v dpkg-deb >/dev/null && generators="TGZ;DEB"
(cd "$build" && cpack -G "$generators" -B "$work/packages") >"$work/log" 2>&1 || { cat "$work/log"; fail "cpack"; }

# use PREFIX PACKAGE: PACKAGE is the name for pkg-config.
use() {
  PKG_CONFIG_PATH=$(dirname "$(find "$1" -name tilewright.pc)")
  export PKG_CONFIG_PATH
  # shellcheck disable=SC2046
  "$cxx" -std=c++20 "$consumer" -o "$work/consumer" $(pkg-config --cflags --libs "$2") || fail "a program does not build with $2 in $1"
  LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$work/consumer" || fail "a program does not run with $2 in $1"
}

mkdir "$work/tarball" "$work/root"
tar -C "$work/tarball" -xzf "$work"/packages/tilewright-*.tar.gz
use "$work/tarball" tilewright
if [ -e "$build/bin/tilewright" ]; then "$work"/tarball/*/bin/tilewright --version >/dev/null || fail "the program of the tarball does not start"; fi

if [ "$generators" != TGZ ]; then
  package=("$work"/packages/tilewright_*.deb)
  dpkg-deb -f "${package[0]}" Depends | grep -q 'libstdc++6' || fail "the Debian package does not name what it needs"
  dpkg-deb -x "${package[0]}" "$work/root"
  [ -s "$work/root/usr/include/tilewright/tilewright.h" ] || fail "the Debian package does not install into /usr"
  if [ -e "$build/lib/libtilewright.a" ]; then use "$work/root" tilewright-static; else use "$work/root" tilewright; fi
fi
