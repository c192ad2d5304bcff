#!/usr/bin/env bash
# Does the fuzzer notice a wrong lowering? Plants one mistake at a time in a copy of the host back end, builds it, and runs random
# programs until one differs from the interpreter.
#   tests/fuzz/lowering_mutants.sh [BUILD_FOLDER [PROGRAMS]]     about half a minute a mutant on 2 cores
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=${1:-$(mktemp -d)}
programs=${2:-2000}
mkdir -p "$work/source"
cp -r "$root"/{CMakeLists.txt,cmake,tileir,passes,backend,runtime,frontend,tests,examples} "$work/source/"
cmake -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTILEWRIGHT_EXAMPLES=OFF -DTILEWRIGHT_BENCH=OFF \
  ${CMAKE_CXX_COMPILER_LAUNCHER:+-DCMAKE_CXX_COMPILER_LAUNCHER=$CMAKE_CXX_COMPILER_LAUNCHER} >"$work/configure.log"
ninja -C "$work/build" fuzz_programs >"$work/build.log"
fuzz=$(find "$work/build" -name fuzz_programs -type f)

caught=0 missed=0
# mutant FAMILY FILE FROM TO: FROM, a text that occurs in FILE, becomes TO (first occurrence).
mutant() {
  local family=$1 file=$work/source/$2 from=$3 to=$4
  cp "$file" "$work/kept"
  FROM=$from TO=$to perl -0pi -e 's/\Q$ENV{FROM}\E/$ENV{TO}/' "$file"
  if cmp -s "$file" "$work/kept"; then
    echo "STALE  $family: $2 no longer holds: $from"
    missed=$((missed + 1))
    return
  fi
  ninja -C "$work/build" fuzz_programs >"$work/build.log" || { cat "$work/build.log"; exit 1; }
  if "$fuzz" --check host --isolate --quiet --max-failures 1 --count "$programs" --out "$work/out" >"$work/fuzz.log" 2>&1; then
    echo "MISSED $family: $2: $from -> $to"
    missed=$((missed + 1))
  else
    echo "caught $family: $2: $from -> $to"
    caught=$((caught + 1))
  fi
  cp "$work/kept" "$file"
}

e=backend/lowering/elementwise.cpp h=backend/host
mutant unary $e 'e.b.CreateAdd(e.call(llvm::Intrinsic::cttz, {e.x[0], e.b.getFalse()}), e.integer(1))' 'e.call(llvm::Intrinsic::cttz, {e.x[0], e.b.getFalse()})'
mutant binary $e 'e.b.CreateICmpULT(e.x[1], e.integer(width))' 'e.b.CreateICmpULE(e.x[1], e.integer(width))'
mutant binary $e 'return d.zero ? e.b.CreateSelect(d.zero, e.all_ones(), q) : q;' 'return q;'
mutant binary $e 'llvm::CmpInst::FCMP_UNE, llvm::CmpInst::ICMP_NE' 'llvm::CmpInst::FCMP_ONE, llvm::CmpInst::ICMP_NE'
mutant ternary $e 'return e.call(llvm::Intrinsic::fma);' 'return e.b.CreateFAdd(e.b.CreateFMul(e.x[0], e.x[1]), e.x[2]);'
mutant convert $e 'e.b.CreateFCmpUNE(x, llvm::ConstantFP::getZero(x->getType()))' 'e.b.CreateFCmpONE(x, llvm::ConstantFP::getZero(x->getType()))'
mutant pointers $e 'e.b.CreateIntCast(e.x[1], e.x[0]->getType(), ir::is_signed(e.types[1].element()))' 'e.b.CreateIntCast(e.x[1], e.x[0]->getType(), true)'
mutant create $h/evaluate.cpp 'b_.CreateAdd(b_.CreateTrunc(nest.index[dims[0]], b_.getInt32Ty()), b_.getInt32(lo))' 'b_.CreateTrunc(nest.index[dims[0]], b_.getInt32Ty())'
mutant shape $h/plan.cpp 'map[axes[i]] = s.map[i];' 'map[i] = s.map[axes[i]];'
mutant load $h/memory.cpp 'return a.mask ? b_.CreateSelect(a.mask, v, other) : v;' 'return v;'
mutant load $h/masks.cpp "if (op.kind == OpKind::le_ || op.kind == OpKind::ge_) distance" "if (op.kind != OpKind::lt_) distance"
mutant memory $h/block_planner.cpp 'if (op.kind == OpKind::store_) load_floor_ = store_floor_ = at + 1;
}' 'if (op.kind == OpKind::store_) store_floor_ = at + 1;
}'
mutant reduce $h/reduce.cpp 'first.push_back(static_cast<int>(i)), second.push_back(static_cast<int>(i + n / 2))' 'first.push_back(static_cast<int>(2 * i)), second.push_back(static_cast<int>(2 * i + 1))'
mutant reduce $h/reduce.cpp 'b_.CreateSelect(first, later[i], next[i]);' 'next[i];'
mutant dot $h/dot.cpp 'b_.CreateMul(batch, i64(K * N))' 'b_.CreateMul(batch, i64(M * K))'
mutant control $h/control_flow.cpp 'b_.CreateSelect(up, b_.CreateSub(hi, lo), b_.CreateSub(lo, hi))' 'b_.CreateSub(hi, lo)'
mutant control $h/block_planner.cpp 'if (at < 0 || at > first) return false;' 'if (at < 0) continue;'
mutant program $h/control_flow.cpp 'b_.CreateURem(rest, gy)' 'rest'
echo "$caught passed, $missed failed"
[ "$missed" = 0 ]
