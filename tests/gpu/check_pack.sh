#!/usr/bin/env bash
# check_pack.sh BUILD: packs a build, moves the folder and runs it elsewhere, on an emulated GPU and without this environment. Steps that fail,
# crash or hang are planted.
set -euo pipefail
build=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf 'gpu_pack: %s\n' "$*" >&2; exit 1; }

mkdir "$work/other" && touch "$work/other/file"
if "$here/pack.sh" "$build" "$work/other" 2>/dev/null; then fail "it packs into a folder with other files"; fi
"$here/pack.sh" "$build" "$work/first" "$build/bin/tutorial_01_launch"
mkdir "$work/elsewhere"
mv "$work/first" "$work/elsewhere/pack"
pack=$work/elsewhere/pack
for file in "$pack"/bin/* "$pack"/lib/*.so*; do
  if readelf -d "$file" | grep -E '(RPATH|RUNPATH)' | grep -F "$build"; then fail "$file looks for libraries in the build"; fi
done

cat >>"$pack/profiles/full" <<'TEXT'
planted.passes   20  echo "it works"
planted.renamed  20  cases bin/test_runtime '--test-case=no such test*'
planted.fails    20  printf 'a "quoted" word,\ta tab and a \\ \n\n'; exit 3
planted.crashes  20  kill -SEGV $BASHPID
planted.hangs     1  sleep 60
planted.deaf      1  trap '' TERM; sleep 60
planted.skips    20  skip "there is no such thing"
[together 4]
together.first   20  sleep 1; echo first
together.second  20  sleep 1; echo second
together.long    20  sleep 60
TEXT

# run_pack ARG...: in the root folder, with a bare environment and, where `driver` is a folder, the libcuda.so.1 in it. Sets `status`, and
# leaves what it says in $work/said.
driver=""
run_pack() {
  status=0
  (cd / && env -i PATH="$PATH" HOME="$work" ${driver:+LD_LIBRARY_PATH="$driver"} "$pack/run" --device emulator:sm_80 "$@") >"$work/said" 2>&1 || status=$?
}
expect_status() { [ "$status" -eq "$1" ] || { cat "$work/said"; fail "$2: status $status, expected $1"; }; }

run_pack --out "$work/results" --quick device fuzz.fresh_1 fuzz.14_at_once examples.01_vector_add examples.04_matmul_epilogue examples.05_attention \
  programs tests.matmuls bench.products counters
expect_status 0 "steps that pass or are skipped"
grep -q "^bench.products .*skipped .* emulator:sm_80 is not a GPU" "$work/said" || fail "a benchmark does not say why it is skipped"

run_pack --out "$work/results" planted
expect_status 1 "steps that fail"
python3 - "$work/results/steps.jsonl" <<'PYTHON' || fail "steps.jsonl is not what it should be"
import json, sys
steps = {step["step"]: step for step in map(json.loads, open(sys.argv[1]))}
want = {"device": "passed", "fuzz.fresh_1": "passed", "fuzz.14_at_once_fresh": "passed", "examples.01_vector_add": "passed", "tests.matmuls": "passed",
        "programs.tutorial_01_launch": "passed", "bench.products": "skipped", "counters": "skipped", "planted.passes": "passed",
        "planted.renamed": "failed", "planted.fails": "failed", "planted.crashes": "crashed", "planted.hangs": "timed out", "planted.deaf": "timed out", "planted.skips": "skipped"}
for name, status in want.items():
    if steps[name]["status"] != status:
        sys.exit(f"{name}: {steps[name]}, expected {status}")
if steps["planted.fails"]["last_line"] != 'a "quoted" word, a tab and a \\' or steps["planted.fails"]["exit"] != 3:
    sys.exit(f"planted.fails: {steps['planted.fails']}")
if "passed | 0 failed" in steps["tests.matmuls"]["last_line"]:
    sys.exit("tests.matmuls ran no test")
PYTHON
run_pack --out "$work/together" together
expect_status 1 "steps that run together, of which one is too long"
python3 - "$work/together/steps.jsonl" <<'PYTHON' || fail "steps do not run together"
import json, sys
steps = {step["step"]: step for step in map(json.loads, open(sys.argv[1]))}
assert {name: step["status"] for name, step in steps.items()} == {"together.first": "passed", "together.second": "passed", "together.long": "timed out"}, steps
assert steps["together.first"]["last_line"] == "first" and steps["together.long"]["seconds"] <= 6, steps
PYTHON
[ "$(wc -c <"$work/together/summary.txt")" -le 10000 ] && grep -q -- "-- together.long: timed out" "$work/together/summary.txt" || fail "no summary"
tar -tzf "$work/together.tar.gz" | grep -q together/together.first.log || fail "the results are not packed"

# Each pattern of the profiles is the name of some test.
sed -n "s/.* cases bin\/\([a-z_]*\) '--test-case=\([^']*\)'.*/\1 \2/p" "$here"/profiles/{contact,full} | while read -r program patterns; do
  tr , '\n' <<<"$patterns" | while read -r pattern; do
    found=$("$build/bin/$program" --count "--test-case=$pattern" | sed -n 's/.* passing the current filters: \([0-9]*\)$/\1/p')
    [ "${found:-0}" -gt 0 ] || fail "no test of $program is called '$pattern'"
  done
done

# First contact: 480 seconds at most, an archive of 50 MiB at most, one command that a form of 2,000 characters takes.
run_pack --profile contact --list
expect_status 0 "the list of a profile"
[ "$(sed -n 's/^[0-9]* steps, \([0-9]*\) s at most$/\1/p' "$work/said")" -le 480 ] || fail "first contact takes more than 8 minutes"
run_pack --profile contact --quick --out "$work/contact" device right.dots examples.01_vector_add fast counters
expect_status 0 "first contact on an emulated GPU"
if [ -e "$build/tests/cli/fake_nvidia/libcuda.so.1" ]; then
  driver=$build/tests/cli/fake_nvidia
  run_pack --profile contact --device cuda:4 --out "$work/roles" right.roles right.tensor_maps
  expect_status 0 "roles on a driver with emulated GPUs"
  grep -q "^right.roles .*passed" "$work/said" || fail "no roles ran on a driver with emulated GPUs"
  driver=""
fi
[ "$(wc -c <"$work/contact/summary.txt")" -le 10000 ] || fail "the summary of first contact is too long"
[ "$(tar -C "$pack/.." -c pack | xz -T0 -0 | wc -c)" -le $((50 << 20)) ] || fail "the archive is larger than 50 MiB"
[ "$("$here/../../dev" gpu --print-call | head -n 1 | wc -c)" -lt 2000 ] || fail "the call is too long"

run_pack --out "$work/results" --resume planted.passes planted.fails
expect_status 1 "a step that fails again"
if grep -q "^planted.passes" "$work/said"; then cat "$work/said"; fail "--resume repeats a step that passed"; fi
[ "$(grep -c '"planted.fails"' "$work/results/steps.jsonl")" -eq 1 ] || fail "--resume leaves two lines for a step"
run_pack --out "$work/short" --seconds 5 planted.passes
expect_status 0 "a step for which there is no time"
grep -q '"skipped".*no time left' "$work/short/steps.jsonl" || fail "--seconds does not skip"
for wrong in "--no-such-option" "no_such_step" "--seconds soon" "--profile none" "--profile ../run"; do
  # shellcheck disable=SC2086
  run_pack $wrong
  expect_status 2 "run $wrong"
done

# Scripts find each other in the folder, and say why they measure nothing where PyTorch or its GPU is missing.
for script in contact driver_calls calibrate profiled; do
  status=0
  (cd / && env -i PATH="$PATH" HOME="$work" CUDA_VISIBLE_DEVICES="" python3 -B "$pack/python/$script.py" "$pack/lib/libbench_gpu.so" --json "$work/none.json") >"$work/said" 2>&1 || status=$?
  expect_status 77 "$script.py without a GPU"
done

# Rows of a benchmark and counters, as steps leave them.
echo '{"rows": [{"kernel": "product", "us": 1.5}], "cublas": 130000}' >"$work/results/planted.passes.json"
echo '{"counters": [{"kernel": "add"}]}' >"$work/results/counters.json"
tar -C "$work" -czf "$work/results.tar.gz" results
for results in results results.tar.gz; do python3 "$here/collect.py" "$work/$results" --out "$work/collected" >/dev/null; done
python3 - "$work"/collected/*-emulator-sm-80.json <<'PYTHON' || fail "collect.py does not merge"
import json, sys
merged = json.load(open(sys.argv[1]))
assert merged["rows"] == [{"kernel": "product", "us": 1.5, "step": "planted.passes"}], merged["rows"]
assert merged["counters"] == [{"kernel": "add"}] and merged["cublas"] == 130000 and merged["commit"]
assert merged["steps"]["planted.hangs"]["status"] == "timed out" and len(merged["steps"]) > 12
PYTHON

# The emulator's report and ncu's table are understood: an ncu that finds the same counters, and then one that does not.
mkdir "$work/bin"
cat >"$work/bin/ncu" <<'TEXT'
#!/bin/sh
echo '==PROF== Connected'
echo '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
for m in smsp__inst_executed l1tex__t_requests_pipe_lsu_mem_global_op_ld smsp__inst_executed_op_shared_ld smsp__inst_executed_op_shared_st \
    l1tex__t_sectors_pipe_lsu_mem_global_op_ld l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st; do
  echo "\"0\",\"matmul\",\"$m.sum\",\"\",\"0\""
done
echo '"0","matmul","l1tex__t_requests_pipe_lsu_mem_global_op_st.sum","","64"'
echo "\"0\",\"matmul\",\"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum\",\"\",\"${SECTORS:-512}\""
TEXT
chmod +x "$work/bin/ncu"
mkdir "$work/kernels"
cp "$pack/counters/matmul.tile" "$work/kernels"
beside_ncu() {
  PATH=$work/bin:$PATH python3 -B "$pack/python/beside_ncu.py" --program "$pack/bin/tilewright" --device emulator:sm_80 --emulated "$work/kernels" >"$work/said" 2>&1
}
beside_ncu || { cat "$work/said"; fail "beside_ncu.py finds a difference where there is none"; }
grep -q "1 kernels, 0 counters differ" "$work/said" || fail "beside_ncu.py compares nothing"
if SECTORS=1,024 beside_ncu; then fail "beside_ncu.py finds no difference"; fi
grep -q "store global .*64 requests of   8.00   ncu       64 of  16.00   DIFFERENT" "$work/said" || { cat "$work/said"; fail "beside_ncu.py names no difference"; }
