#!/usr/bin/env bash
# pack.sh BUILD DIR [PROGRAM...]: copies what a GPU is for out of a build into DIR, a folder that needs nothing else: programs, Python
# scripts, kernels and `run`. PROGRAM: a program that is given the device's name and succeeds if its results are right.
set -euo pipefail
[ $# -ge 2 ] || { printf 'pack.sh BUILD DIR [PROGRAM...]\n' >&2; exit 2; }
build=$(cd "$1" && pwd) dir=$2
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
fail() { printf 'gpu pack: %s\n' "$*" >&2; exit 1; }

if [ -e "$dir" ]; then
  [ -f "$dir/pack.json" ] || [ -z "$(ls -A "$dir")" ] || fail "'$dir' has files that are not of a pack"
  rm -rf "$dir"
fi
mkdir -p "$dir/bin" "$dir/lib/fallback" "$dir/python" "$dir/counters" "$dir/profiles"
commit=$(git -C "$root" rev-parse HEAD 2>/dev/null || echo unknown)
[ -z "$(git -C "$root" status --porcelain --untracked-files=no 2>/dev/null)" ] || commit+="+changes"
printf '{"commit": "%s", "packed": "%s"}\n' "$commit" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$dir/pack.json"
cp "$here/run" "$dir/run"

# program FILE [FOLDER]: without symbols, and with libraries beside it.
program() {
  local to=$dir/${2:-bin}/$(basename "$1")
  [ -e "$1" ] || fail "there is no $1"
  mkdir -p "$(dirname "$to")"
  strip -o "$to" "$1" && chmod +x "$to"
}
for name in tilewright test_programs test_kernels test_execution test_runtime fuzz_programs; do program "$build/bin/$name"; done
# Programs find it by a path relative to their own.
strip -o "$dir/lib/$(readlink "$build/lib/libtilewright.so")" "$build/lib/libtilewright.so"
strip -o "$dir/lib/libbench_gpu.so" "$build/lib/libbench_gpu.so"
# Only the compiler's libraries are copied from the system: a system with a GPU's driver has the others.
for library in libstdc++.so.6 libgcc_s.so.1; do
  from=$(ldd "$build/bin/tilewright" | awk -v name="$library" '$1 == name {print $3}')
  [ -n "$from" ] && cp -L "$from" "$dir/lib/fallback/$library"
done

# Examples compiled for any processor of the last ten years, if there are: those of the tests are compiled for this one.
examples=$build/bin/portable
[ -d "$examples" ] || examples=$build/bin
example_names=() program_names=()
for file in "$examples"/[0-9][0-9]_*; do
  name=$(basename "$file")
  case $name in 12_race | 13_report) continue ;; esac  # on emulators only
  program "$file"
  example_names+=("$name")
done
for file in "$@"; do
  name=$(basename "$file")
  program "$file" programs
  program_names+=("$name")
done

# The lines `examples LIMIT` and `programs LIMIT` of a profile are a step for each of them.
for profile in full contact; do
  while IFS= read -r line; do
    read -r word limit _ <<<"$line" || true
    case $word in
      examples) for name in "${example_names[@]}"; do printf 'examples.%-20s %s  native bin/%s --device $device --quick\n' "$name" "$limit" "$name"; done ;;
      programs) for name in "${program_names[@]}"; do printf 'programs.%-20s %s  native programs/%s $device\n' "$name" "$limit" "$name"; done ;;
      *) printf '%s\n' "$line" ;;
    esac
  done <"$here/profiles/$profile" >"$dir/profiles/$profile"
done

cp "$root"/tests/bench/peers/{calibrate.py,contact.py,cublas.py,driver_calls.py,gpu_state.py,measured.py,profiled.py,ptx_kernel.py} \
  "$root/frontend/cli/bench/peers/triton_kernels.py" "$root/tests/counters/beside_ncu.py" "$here/describe_device.py" "$dir/python"
cp "$root"/tests/counters/kernels/*.tile "$dir/counters"
