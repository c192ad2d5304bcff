#!/bin/sh
# exported_names.sh NM LIBRARY NAMES ROOTS: writes the names that a shared library has for users, one a line, and the same as options that
# make the linker keep them. Names of a private version are not for users.
set -eu
"$1" -D --defined-only --with-symbol-versions "$2" | awk '$2 != "A" && $3 !~ /@TILEWRIGHT_PRIVATE/ {sub(/@.*/, "", $3); print $3}' | sort -u >"$3"
sed 's/^/-Wl,-u,/' "$3" >"$4"
