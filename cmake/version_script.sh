#!/bin/sh
# version_script.sh MAP NM VERSION [OBJECT...]: prints the linker's version script for libtilewright.so: MAP, and a node of private names,
# those of the internal namespaces that the objects of the program tilewright refer to. The node names the full version, so that the dynamic
# linker refuses a program that comes from another build's version.
set -eu
map=$1 nm=$2 version=$3
shift 3
cat "$map"
[ $# -gt 0 ] || exit 0
printf 'TILEWRIGHT_PRIVATE_%s {\n  global:\n' "$version"
"$nm" --undefined-only "$@" | awk '$1 == "U" {print $2}' | sort -u |
  grep -E '^_Z(T[A-Z]|Z|GV)?NK?10tilewright(2ir|2rt|5graph|6passes|7backend)' | sed 's/.*/    &;/'
printf '};\n'
