#!/usr/bin/env bash
# Shows that the fuzzer finds wrong lowerings: puts one mistake at a time into a copy of the host back end (or of a pass that lowers),
# builds it, and runs random programs until one differs from the interpreter.
#   tests/fuzz/lowering_mutants.sh [BUILD_FOLDER [PROGRAMS [FAMILY]]]     about half a minute a mutant on 2 cores
#   tests/fuzz/lowering_mutants.sh --check    only checks that the sources still hold the text of each mutant; a test runs this
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
caught=0 missed=0

# has_text FILE TEXT: whether the file holds the text, which may have several lines.
has_text() { TEXT=$2 perl -0ne '$found = 1 if index($_, $ENV{TEXT}) >= 0; END { exit !$found }' "$1"; }

# prepare: copies the sources and builds the fuzzer.
prepare() {
  mkdir -p "$work/source"
  cp -r "$root"/{CMakeLists.txt,LICENSE,README.md,cmake,tileir,passes,backend,runtime,frontend,tests,examples,docs} "$work/source/"
  cmake -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTILEWRIGHT_EXAMPLES=OFF -DTILEWRIGHT_BENCH=OFF \
    ${CMAKE_CXX_COMPILER_LAUNCHER:+-DCMAKE_CXX_COMPILER_LAUNCHER=$CMAKE_CXX_COMPILER_LAUNCHER} >"$work/configure.log"
  ninja -C "$work/build" fuzz_programs >"$work/build.log"
  fuzz=$(find "$work/build" -name fuzz_programs -type f)
}

# mutant FAMILY FILE FROM TO: FROM, a text that occurs in FILE, becomes TO (first occurrence).
mutant() {
  local family=$1 from=$3 to=$4
  [ -z "$only" ] || [ "$only" = "$family" ] || return 0
  if ! has_text "$root/$2" "$from"; then
    echo "STALE  $family: $2 no longer holds: $from"
    missed=$((missed + 1))
    return
  fi
  if [ "$work" = --check ]; then
    caught=$((caught + 1))
    return
  fi
  local file=$work/source/$2
  cp "$file" "$work/kept"
  FROM=$from TO=$to perl -0pi -e 's/\Q$ENV{FROM}\E/$ENV{TO}/' "$file"
  ninja -C "$work/build" fuzz_programs >"$work/build.log" || { cat "$work/build.log"; exit 1; }
  if "$fuzz" --isolate --quiet --max-failures 1 --count "$programs" --no-shrink >"$work/fuzz.log" 2>&1; then
    echo "MISSED $family: $2: $from -> $to"
    missed=$((missed + 1))
  else
    echo "caught $family: $2: $from -> $to: $(sed -n 's/^\([0-9]* programs\) from.*/after \1/p' "$work/fuzz.log")"
    caught=$((caught + 1))
  fi
  cp "$work/kept" "$file"
}

work=${1:-$(mktemp -d)}
programs=${2:-2000}
only=${3:-}
[ "$work" = --check ] || prepare

e=backend/lowering/elementwise.cpp h=backend/host p=passes
mutant unary $e 'e.b.CreateAdd(e.call(llvm::Intrinsic::cttz, {e.x[0], e.b.getFalse()}), e.integer(1))' 'e.call(llvm::Intrinsic::cttz, {e.x[0], e.b.getFalse()})'
mutant binary $e 'e.b.CreateICmpULT(e.x[1], e.integer(width))' 'e.b.CreateICmpULE(e.x[1], e.integer(width))'
mutant binary $e 'return d.zero ? e.b.CreateSelect(d.zero, e.all_ones(), q) : q;' 'return q;'
mutant binary $e 'llvm::CmpInst::FCMP_UNE, llvm::CmpInst::ICMP_NE' 'llvm::CmpInst::FCMP_ONE, llvm::CmpInst::ICMP_NE'
mutant ternary $e 'return e.call(llvm::Intrinsic::fma);' 'return e.b.CreateFAdd(e.b.CreateFMul(e.x[0], e.x[1]), e.x[2]);'
mutant convert $e 'e.b.CreateFCmpUNE(x, llvm::ConstantFP::getZero(x->getType()))' 'e.b.CreateFCmpONE(x, llvm::ConstantFP::getZero(x->getType()))'
mutant pointers $e 'e.b.CreateIntCast(e.x[1], e.x[0]->getType(), ir::is_signed(e.types[1].element()))' 'e.b.CreateIntCast(e.x[1], e.x[0]->getType(), true)'
mutant create $h/nest.cpp 'b.CreateAdd(b.CreateTrunc(index(dims[0]), b.getInt32Ty()), b.getInt32(lo))' 'b.CreateTrunc(index(dims[0]), b.getInt32Ty())'
mutant shape $h/evaluation_plan.cpp 'map[axes[i]] = s.map[i];' 'map[i] = s.map[axes[i]];'
mutant load $h/memory.cpp 'return a.mask ? b.CreateSelect(a.mask, v, other) : v;' 'return v;'
mutant load $h/prefix_masks.cpp 'if (comparison.or_equal) distance =' 'distance ='
mutant memory $h/memory_order.cpp 'if (!earlier.is_store && !later.is_store) return false;' 'if (!earlier.is_store || !later.is_store) return false;'
mutant reduce $h/reduce.cpp 'select_lanes(e, v, 0, 2, n / 2), select_lanes(e, v, 1, 2, n / 2)' 'select_lanes(e, v, 0, 1, n / 2), select_lanes(e, v, n / 2, 1, n / 2)'
mutant reduce $h/reduce.cpp 'b.CreateSelect(first, later[i], next[i]);' 'next[i];'
mutant dot $h/dot.cpp 'b.CreateMul(batch, e.i64(bytes))' 'b.CreateMul(batch, e.i64(bytes / 2))'
mutant control $h/control_flow.cpp 'b.CreateSelect(up, b.CreateSub(hi, lo), b.CreateSub(lo, hi))' 'b.CreateSub(hi, lo)'
mutant control $h/block_planner_control.cpp 'if (at < 0 || at > first) return false;' 'if (at < 0) continue;'
mutant program $h/emitter.cpp 'b_.CreateURem(rest, gy)' 'rest'
mutant scan $h/scan.cpp 'reverse_ ? b_.CreateSub(e_.i64(extent_ - 1), k, "", true, true) : k' 'k'
mutant scan $h/scan.cpp 'const int source = reverse_ ? lane + distance : lane - distance;' 'const int source = lane - distance;'
mutant scan $h/scan.cpp '*k == OpKind::minimum_' '*k == OpKind::add_ || *k == OpKind::minimum_'
mutant sort $h/sort.cpp 'b_.CreateSelect(is_nan, constant(magnitude), order)' 'order'
mutant sort $h/sort.cpp 'ordered(load(low), reversed(load(high)))' 'ordered(load(low), load(high))'
mutant sort $h/sort.cpp 'if (descending_) order = b_.CreateNot(order);' ''
mutant sort $h/sort.cpp 'b_.CreateSelect(b_.CreateICmpEQ(size, constant(0)), constant(0), turned)' 'turned'
mutant index $h/index.cpp 'b.CreateAnd(at, e.i64(extent - 1))' 'b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, at, e.i64(extent - 1))'
mutant index $h/index.cpp 'if (masked) v = b.CreateSelect(values(1, i), v, beyond);' ''
mutant index $h/index.cpp 'for (std::int64_t table = 1; table < tables; ++table)' 'for (std::int64_t table = 2; table < tables; ++table)'
mutant index $h/index.cpp 'v = b.CreateIntCast(v, with_lanes_of(b.getInt32Ty(), v), ir::is_signed(t.element()));' 'v = b.CreateIntCast(v, with_lanes_of(b.getInt32Ty(), v), true);'
mutant atomic $h/atomics.cpp 'return is_signed ? AtomicRMWInst::Max : AtomicRMWInst::UMax;' 'return AtomicRMWInst::Max;'
mutant atomic $h/atomics.cpp 'exchange_if(x[1], x[2])' 'exchange_if(x[2], x[1])'
mutant atomic $h/atomics.cpp 'combine(e, id, {old}, {x[1]})[0]' 'combine(e, id, {x[1]}, {old})[0]'
mutant atomic $p/legalize_atomics.cpp 'case OpKind::atomic_max_: return OpKind::maximum_;' 'case OpKind::atomic_max_: return OpKind::fmax_;'
mutant report $h/report.cpp 'b.CreateStore(e.program_id(i),' 'b.CreateStore(e.program_id(2 - i),'
mutant scaled $p/expand_dot_scaled.cpp 'select(magnitude < 2, small, normal)' 'normal'
mutant scaled $p/expand_dot_scaled.cpp 'select(u == 0, 0x400000,' 'select(u == 0, 0,'
echo "$caught passed, $missed failed"
[ "$missed" = 0 ]
