// LLVM IR of the host back end: vector accesses, masks in a separate loop, no calls of libm.
#include "backend/compile.h"

#include <doctest/doctest.h>
#include <llvm/ADT/Twine.h>
#include <llvm/IR/LLVMContext.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "backend/llvm_errors.h"
#include "tests/messages.h"
#include "tileir/diagnostics.h"
#include "tileir/text/parser.h"

namespace tilewright::backend {

namespace {

CompiledKernel compiled(const char* text, const char* target, bool check = false) {
  CompileOptions options;
  options.target = target;
  options.check = check;
  return compile(ir::parse(text, "test.tile").functions.at(0), options, {.keep_text = true, .dump = {}});
}

using tilewright::test::has;

constexpr const char* kMasked = R"(kernel @double(%x: ptr<const f32>, %y: ptr<f32>, %n: i32) {
  %pid = program_id {axis = 0} : i32
  %size = constant {value = 256} : i32
  %first = mul %pid, %size : i32
  %fb = broadcast %first : i32[256]
  %r = arange {lo = 0, hi = 256} : i32[256]
  %i = add %fb, %r : i32[256]
  %nb = broadcast %n : i32[256]
  %m = lt %i, %nb : i1[256]
  %xb = broadcast %x : ptr<const f32>[256]
  %xp = add_ptr %xb, %i : ptr<const f32>[256]
  %yb = broadcast %y : ptr<f32>[256]
  %yp = add_ptr %yb, %i : ptr<f32>[256]
  %v = load %xp, %m : f32[256]
  %w = add %v, %v : f32[256]
  store %yp, %w, %m
})";

}  // namespace

TEST_CASE("compile: contiguous accesses are whole vectors; their masks are in a loop of their own") {
  const auto wide = compiled(kMasked, "cpu:x86-64-v4"), middle = compiled(kMasked, "cpu:x86-64-v3"),
             narrow = compiled(kMasked, "cpu:x86-64");
  CHECK(has(wide.llvm_ir, "load <16 x float>"));
  CHECK(has(wide.llvm_ir, "@llvm.masked.load.v16f32"));
  CHECK_FALSE(has(wide.llvm_ir, "%some_lane"));  // that is for tiles of products
  CHECK(has(wide.llvm_ir, "store <16 x float>"));
  CHECK(has(middle.llvm_ir, "load <8 x float>"));
  CHECK(has(narrow.llvm_ir, "load <4 x float>"));
  // Without masked instructions, inactive lanes access a separate place, so no branch is needed for each lane.
  CHECK_FALSE(has(narrow.llvm_ir, "@llvm.masked"));
}

TEST_CASE("compile: a value goes to memory from its register if the launch knows that no other lane reads it there") {
  std::string text = kMasked;
  text.insert(text.find(", %n: i32"), " {disjoint}");
  for (const char* target : {"cpu:x86-64", "cpu:x86-64-v3", "cpu:x86-64-v4"}) {
    CAPTURE(target);
    CHECK(compiled(text.c_str(), target).scratch_bytes == 0);
    CHECK(compiled(kMasked, target).scratch_bytes == 256 * 4);
  }
}

TEST_CASE("compile: loops end behind the rows that are stored") {
  // Rows 0 to 4 of 32, and rows below n.
  const auto kernel = [](const char* bound) {
    const std::string text = std::string(R"(kernel @rows(%x: ptr<const f32>, %y: ptr<f32>, %n: i32) {
  %r = arange {lo = 0, hi = 32} : i32[32]
  %five = constant {value = 5} : i32
  %ends = broadcast )") + bound +
                             R"( : i32[32]
  %in = lt %r, %ends : i1[32]
  %r1 = reshape %r : i32[32, 1]
  %i = broadcast %r1 : i32[32, 256]
  %c = arange {lo = 0, hi = 256} : i32[256]
  %c1 = reshape %c : i32[1, 256]
  %j = broadcast %c1 : i32[32, 256]
  %width = constant {value = 256} : i32[32, 256]
  %rows = mul %i, %width : i32[32, 256]
  %at = add %rows, %j : i32[32, 256]
  %xs = broadcast %x : ptr<const f32>[32, 256]
  %xp = add_ptr %xs, %at : ptr<const f32>[32, 256]
  %a = load %xp : f32[32, 256]
  %s = reduce %a {axis = 1, commutative} : f32[32] (%u: f32, %v: f32) {
    %w = add %u, %v : f32
    yield %w
  }
  %s1 = reshape %s : f32[32, 1]
  %ss = broadcast %s1 : f32[32, 256]
  %b = div %a, %ss : f32[32, 256]
  %ys = broadcast %y : ptr<f32>[32, 256]
  %yp = add_ptr %ys, %at : ptr<f32>[32, 256]
  %in1 = reshape %in : i1[32, 1]
  %mask = broadcast %in1 : i1[32, 256]
  store %yp, %b, %mask
})";
    return text;
  };
  const auto comparisons_with = [](const CompiledKernel& k, int end) {
    std::istringstream lines(k.llvm_ir);
    const std::string last = ", " + std::to_string(end);
    int found = 0;
    for (std::string line; std::getline(lines, line);) found += has(line, "icmp") && has(line, " i64 ") && line.ends_with(last);
    return found;
  };
  for (const char* target : {"cpu:x86-64", "cpu:x86-64-v3", "cpu:x86-64-v4"}) {
    CAPTURE(target);
    const auto constant = compiled(kernel("%five").c_str(), target), symbol = compiled(kernel("%n").c_str(), target);
    const auto checked = compiled(kernel("%five").c_str(), target, true);
    // The ends of the nests that sum and that store.
    CHECK(comparisons_with(constant, 5) >= 2);
    CHECK(comparisons_with(constant, 32) == 0);
    CHECK(comparisons_with(symbol, 32) <= 1);  // the count itself is at most 32
    CHECK(comparisons_with(checked, 32) >= 2);
  }
}

TEST_CASE("compile: a masked load of what is also stored in part does not end LLVM") {
  const auto k =
      compiled(R"(kernel @test(%x: ptr<const f32> {divisible_by = 64}, %y: ptr<i64> {divisible_by = 8}, %z: ptr<i64> {divisible_by = 8}) {
  %0 = broadcast %x : ptr<const f32>[1, 8]
  %1 = load %0 : f32[1, 8]
  %2 = cast %1 : f16[1, 8]
  %3 = cast %2 : i1[1, 8]
  %4 = reshape %3 : i1[8]
  %5 = broadcast %z : ptr<i64>[8]
  %6 = arange {lo = 0, hi = 8} : i32[8]
  %7 = constant {value = 3} : i32
  %8 = broadcast %7 : i32[8]
  %9 = lt %6, %8 : i1[8]
  %10 = bit_and %9, %4 : i1[8]
  %11 = broadcast %y : ptr<i64>[8]
  %12 = add_ptr %11, %6 : ptr<i64>[8]
  %13 = load %12, %10 : i64[8]
  %14 = atomic_min %5, %13 : i64[8]
})",
               "cpu:x86-64-v3");
  CHECK_FALSE(k.image.empty());
}

TEST_CASE("compile: loops address memory by their index, and do not carry a pointer for each access") {
  const std::string code = compiled(R"(kernel @twice(%x: ptr<const f32>, %y: ptr<f32>) {
  %r = arange {lo = 0, hi = 256} : i32[256]
  %xs = broadcast %x : ptr<const f32>[256]
  %xp = add_ptr %xs, %r : ptr<const f32>[256]
  %v = load %xp : f32[256]
  %w = add %v, %v : f32[256]
  %ys = broadcast %y : ptr<f32>[256]
  %yp = add_ptr %ys, %r : ptr<f32>[256]
  store %yp, %w
})",
                                    "cpu:x86-64-v4")
                               .assembly;
  CHECK(has(code, "addq\t$16, "));        // elements
  CHECK_FALSE(has(code, "addq\t$64, "));  // bytes: Loop Strength Reduction would make pointers
}

/// y[i] = x[index[i]] for indices of a type below n, which are behind a mask.
std::string gather_of(const char* element, const char* index) {
  std::string s = R"(kernel @gather(%x: ptr<const ELEMENT>, %at: ptr<const INDEX>, %y: ptr<ELEMENT>, %n: i32) {
  %r = arange {lo = 0, hi = 256} : i32[256]
  %ns = broadcast %n : i32[256]
  %m = lt %r, %ns : i1[256]
  %as = broadcast %at : ptr<const INDEX>[256]
  %ap = add_ptr %as, %r : ptr<const INDEX>[256]
  %i = load %ap, %m : INDEX[256]
  %xs = broadcast %x : ptr<const ELEMENT>[256]
  %xp = add_ptr %xs, %i : ptr<const ELEMENT>[256]
  %v = load %xp, %m : ELEMENT[256]
  %ys = broadcast %y : ptr<ELEMENT>[256]
  %yp = add_ptr %ys, %r : ptr<ELEMENT>[256]
  store %yp, %v, %m
})";
  for (const auto& [name, type] : {std::pair<std::string, std::string>("ELEMENT", element), {"INDEX", index}})
    for (std::size_t at = 0; (at = s.find(name, at)) != std::string::npos;) s.replace(at, name.size(), type);
  return s;
}

TEST_CASE("compile: rows of products that no store needs are computed as the last row that one needs") {
  const auto code = [](const char* row_mask) {
    return compiled((std::string(R"(kernel @few(%a: ptr<const f32>, %b: ptr<const f32>, %c: ptr<f32>, %m: i32) {
  %i = arange {lo = 0, hi = 16} : i32[16]
  %ic = reshape %i : i32[16, 1]
  %ir = reshape %i : i32[1, 16]
  %size = constant {value = 16} : i32[16, 1]
  %at = mul %ic, %size : i32[16, 1]
  %o1 = broadcast %at : i32[16, 16]
  %o2 = broadcast %ir : i32[16, 16]
  %o = add %o1, %o2 : i32[16, 16]
  %ab = broadcast %a : ptr<const f32>[16, 16]
  %ap = add_ptr %ab, %o : ptr<const f32>[16, 16]
  %x = load %ap : f32[16, 16]
  %bb = broadcast %b : ptr<const f32>[16, 16]
  %bp = add_ptr %bb, %o : ptr<const f32>[16, 16]
  %y = load %bp : f32[16, 16]
  %none = constant {value = 0.0} : f32[16, 16]
  %d = dot %x, %y, %none : f32[16, 16]
  %mb = broadcast %m : i32[16, 1]
  %im = lt %ic, %mb : i1[16, 1]
  %mask = broadcast %im : i1[16, 16]
  %cb = broadcast %c : ptr<f32>[16, 16]
  %cp = add_ptr %cb, %o : ptr<f32>[16, 16]
  store %cp, %d)") + row_mask +
                     "\n}")
                        .c_str(),
                    "cpu:x86-64-v4")
        .llvm_ir;
  };
  CHECK(has(code(", %mask"), "%last_live"));
  CHECK_FALSE(has(code(""), "%last_live"));
}

TEST_CASE("compile: what a launch reads once counts with what it writes, to choose non-temporal stores") {
  // kMasked reads what no other program reads; a gather may read anything.
  const auto code = [](std::string text) {
    for (const std::string parameter : {"%x: ptr<const f32>", "%y: ptr<f32>"})
      text.insert(text.find(parameter) + parameter.size(), " {disjoint}");
    return compiled(text.c_str(), "cpu:x86-64-v4").llvm_ir;
  };
  const std::string rows = code(kMasked), gather = code(gather_of("f32", "i32"));
  CHECK(has(rows, "!nontemporal"));
  CHECK(has(rows, "llvm.umin.i64"));
  CHECK(has(gather, "!nontemporal"));
  CHECK(has(gather, "llvm.umin.i64"));  // for the indices
  // Two passes over rows of n elements, in blocks: the second one stores, in as many iterations as n has blocks.
  const std::string passes = code(R"(kernel @passes(%x: ptr<const f32>, %y: ptr<f32>, %n: i32) {
  %zero = constant {value = 0} : i32
  %size = constant {value = 256} : i32
  %r = arange {lo = 0, hi = 256} : i32[256]
  %start = constant {value = 0.0} : f32[256]
  %sums = for %zero, %n, %size, %start : f32[256] (%i: i32, %s: f32[256]) {
    %is = broadcast %i : i32[256]
    %at = add %is, %r : i32[256]
    %xs = broadcast %x : ptr<const f32>[256]
    %xp = add_ptr %xs, %at : ptr<const f32>[256]
    %v = load %xp : f32[256]
    %t = add %s, %v : f32[256]
    yield %t
  }
  for %zero, %n, %size (%k: i32) {
    %ks = broadcast %k : i32[256]
    %to = add %ks, %r : i32[256]
    %ys = broadcast %y : ptr<f32>[256]
    %yp = add_ptr %ys, %to : ptr<f32>[256]
    store %yp, %sums
    yield
  }
})");
  CHECK(has(passes, "!nontemporal"));
  CHECK(has(passes, "llvm.smax.i64"));
}

TEST_CASE("compile: the rows of a program's part count, to choose non-temporal stores") {
  // Whether the launch is large shows in the product of the bytes of a row, the programs and the rows of each.
  const auto rows_of = [](const std::string& end) {
    return compiled((R"(kernel @rows(%y: ptr<f32>, %n: i32, %rows: i32) {
  %pid = program_id {axis = 0} : i32
  %first = mul %pid, %n : i32
  %next = add %first, %n : i32
  %squared = mul %next, %next : i32
  %end = )" + end + R"( : i32
  %one = constant {value = 1} : i32
  %size = constant {value = 256} : i32
  %r = arange {lo = 0, hi = 256} : i32[256]
  %v = constant {value = 1.0} : f32[256]
  for %first, %end, %one (%k: i32) {
    %from = mul %k, %size : i32
    %fs = broadcast %from : i32[256]
    %at = add %fs, %r : i32[256]
    %ys = broadcast %y : ptr<f32>[256]
    %yp = add_ptr %ys, %at : ptr<f32>[256]
    store %yp, %v
    yield
  }
})")
                        .c_str(),
                    "cpu:x86-64-v4")
        .llvm_ir;
  };
  const auto before_programs = [](const std::string& code) { return code.substr(0, code.find("non_temporal")); };
  for (const char* end : {"minimum %next, %rows", "minimum %rows, %next"}) CHECK(has(before_programs(rows_of(end)), "llvm.smax.i64"));
  CHECK_FALSE(has(before_programs(rows_of("minimum %squared, %rows")), "llvm.smax.i64"));
}

TEST_CASE("compile: long chains that a select seldom uses are computed where a lane needs them") {
  const std::string text = R"(kernel @sine(%x: ptr<const f32> {disjoint}, %y: ptr<f32> {disjoint}) {
  %r = arange {lo = 0, hi = 256} : i32[256]
  %xs = broadcast %x : ptr<const f32>[256]
  %xp = add_ptr %xs, %r : ptr<const f32>[256]
  %v = load %xp : f32[256]
  %w = $ %v : f32[256]
  %ys = broadcast %y : ptr<f32>[256]
  %yp = add_ptr %ys, %r : ptr<f32>[256]
  store %yp, %w
})";
  const auto code = [&](const std::string& op, bool check = false) {
    std::string of = text;
    of.replace(of.find('$'), 1, op);
    CompileOptions options;
    options.target = "cpu:x86-64-v4";
    options.check = check;
    return compile(ir::parse(of, "test.tile").functions.at(0), options, {.keep_text = true, .dump = {}}).llvm_ir;
  };
  for (const char* op : {"sin", "cos"}) {
    CHECK(has(code(op), "guarded"));
    CHECK_FALSE(has(code(op, true), "guarded"));
  }
  CHECK_FALSE(has(code("exp"), "guarded"));
}

TEST_CASE("compile: a store is not non-temporal if the kernel loads from the same parameter, or from one that may overlap it") {
  const auto code = [](const std::string& x, const std::string& y, const std::string& to) {
    return compiled(("kernel @add(%x: ptr<f32>" + x + ", %y: ptr<f32>" + y + R"() {
  %pid = program_id {axis = 0} : i32
  %size = constant {value = 256} : i32
  %first = mul %pid, %size : i32
  %fs = broadcast %first : i32[256]
  %r = arange {lo = 0, hi = 256} : i32[256]
  %at = add %fs, %r : i32[256]
  %xs = broadcast %x : ptr<f32>[256]
  %xp = add_ptr %xs, %at : ptr<f32>[256]
  %v = load %xp : f32[256]
  %w = add %v, %v : f32[256]
  %ts = broadcast )" +
                     to + R"( : ptr<f32>[256]
  %tp = add_ptr %ts, %at : ptr<f32>[256]
  store %tp, %w
})")
                        .c_str(),
                    "cpu:x86-64-v4")
        .llvm_ir;
  };
  CHECK(has(code(" {disjoint}", " {disjoint}", "%y"), "!nontemporal"));
  CHECK_FALSE(has(code(" {disjoint}", " {disjoint}", "%x"), "!nontemporal"));
  CHECK_FALSE(has(code("", "", "%y"), "!nontemporal"));
}

TEST_CASE("compile: maximum and minimum are an instruction and a correction for NaN on AVX-512, of vectors and in reduces") {
  constexpr const char* kExtremes = R"(kernel @extremes(%x: ptr<const f32>, %y: ptr<f32>) {
  %r = arange {lo = 0, hi = 256} : i32[256]
  %xs = broadcast %x : ptr<const f32>[256]
  %xp = add_ptr %xs, %r : ptr<const f32>[256]
  %v = load %xp : f32[256]
  %m = reduce %v {axis = 0, commutative} : f32 (%a: f32, %b: f32) {
    %w = maximum %a, %b : f32
    yield %w
  }
  %ms = broadcast %m : f32[256]
  %u = neg %v : f32[256]
  %l = minimum %u, %ms : f32[256]
  %ys = broadcast %y : ptr<f32>[256]
  %yp = add_ptr %ys, %r : ptr<f32>[256]
  store %yp, %l
})";
  const std::string wide = compiled(kExtremes, "cpu:x86-64-v4").assembly, narrow = compiled(kExtremes, "cpu:x86-64-v3").assembly;
  for (const char* instruction : {"vrangeps\t$5", "vrangeps\t$4"}) {
    CHECK(has(wide, instruction));
    CHECK_FALSE(has(narrow, instruction));
  }
  CHECK_FALSE(has(wide, "vmaxps"));
  CHECK_FALSE(has(wide, "vmaxss"));
}

TEST_CASE("compile: AVX-512 gathers by its instruction, with indices of 32 bits where they are") {
  const auto code = [](const char* element, const char* index, const char* target) {
    return compiled(gather_of(element, index).c_str(), target).assembly;
  };
  CHECK(has(code("f32", "i32", "cpu:x86-64-v4"), "vgatherdps"));
  CHECK(has(code("i32", "i32", "cpu:x86-64-v4"), "vpgatherdd"));
  CHECK(has(code("f32", "i64", "cpu:x86-64-v4"), "vgatherqps"));
  CHECK(has(code("f64", "i32", "cpu:x86-64-v4"), "vgatherdpd"));
  for (const std::string& other :
       {code("f16", "i32", "cpu:x86-64-v4"), code("f32", "i32", "cpu:x86-64-v3"), compiled(kMasked, "cpu:x86-64-v4").assembly}) {
    CHECK_FALSE(has(other, "vgather"));
    CHECK_FALSE(has(other, "vpgather"));
  }
}

TEST_CASE("compile: every second element is taken from two vectors by a shuffle, on every level") {
  constexpr const char* kPairs = R"(kernel @pairs(%x: ptr<const f32>, %y: ptr<f32>) {
  %r = arange {lo = 0, hi = 256} : i32[256]
  %two = constant {value = 2} : i32[256]
  %i = mul %r, %two : i32[256]
  %xs = broadcast %x : ptr<const f32>[256]
  %xp = add_ptr %xs, %i : ptr<const f32>[256]
  %v = load %xp : f32[256]
  %ys = broadcast %y : ptr<f32>[256]
  %yp = add_ptr %ys, %r : ptr<f32>[256]
  store %yp, %v
})";
  for (const auto& [target, load] :
       {std::pair("cpu:x86-64", "load <4 x float>"), {"cpu:x86-64-v3", "load <8 x float>"}, {"cpu:x86-64-v4", "load <16 x float>"}}) {
    const CompiledKernel k = compiled(kPairs, target);
    CHECK(has(k.llvm_ir, load));
    CHECK_FALSE(has(k.llvm_ir, "load float,"));
    CHECK_FALSE(has(k.llvm_ir, "masked.gather"));
  }
}

TEST_CASE("compile: floats become integers by vectors, not lane by lane") {
  for (const char* type : {"i8", "u8", "i16", "u16", "i32"}) {
    std::string kernel = R"(kernel @quantise(%x: ptr<const f32>, %y: ptr<T>) {
  %r = arange {lo = 0, hi = 256} : i32[256]
  %xs = broadcast %x : ptr<const f32>[256]
  %xp = add_ptr %xs, %r : ptr<const f32>[256]
  %v = load %xp : f32[256]
  %q = cast %v : T[256]
  %ys = broadcast %y : ptr<T>[256]
  %yp = add_ptr %ys, %r : ptr<T>[256]
  store %yp, %q
})";
    for (std::size_t at; (at = kernel.find('T')) != std::string::npos;) kernel.replace(at, 1, type);
    for (const char* target : {"cpu:x86-64-v3", "cpu:x86-64-v4"}) {
      const std::string assembly = compiled(kernel.c_str(), target).assembly;
      CAPTURE(type);
      CAPTURE(target);
      CHECK(has(assembly, "vcvttps2dq"));
      CHECK_FALSE(has(assembly, "vcvttss2si"));
    }
  }
}

TEST_CASE("compile: the same kernel gives the same bytes") {
  const auto a = compiled(kMasked, "cpu"), b = compiled(kMasked, "cpu");
  CHECK(a.image == b.image);
  CHECK(a.scratch_bytes == b.scratch_bytes);
}

TEST_CASE("compile: text alone is the text of the object, without the object") {
  CompileOptions options;
  options.target = "cpu";
  const CompiledKernel k =
      compile(ir::parse(kMasked, "test.tile").functions.at(0), options, {.keep_text = true, .dump = {}, .text_only = true});
  CHECK(k.image.empty());
  CHECK(k.assembly == compiled(kMasked, "cpu").assembly);
}

TEST_CASE("compile: checked mode names a site for each access") {
  const auto k = compiled(kMasked, "cpu", true);
  // The same access is emitted in several loops; each occurrence has its own number.
  REQUIRE(k.sites.size() >= 2);
  for (const AccessSite& site : k.sites) {
    CHECK(site.where.file == "test.tile");
    CHECK(site.where.line == (site.is_store ? 16 : 14));
    CHECK(site.element_bytes == 4);
  }
}

TEST_CASE("compile: math is arithmetic; no function of a library is called") {
  for (const char* target : {"cpu", "cpu:x86-64-v3", "cpu:x86-64"}) {
    const auto k = compiled(R"(kernel @math(%x: ptr<f32>) {
      %i = arange {lo = 0, hi = 64} : i32[64]
      %xb = broadcast %x : ptr<f32>[64]
      %xp = add_ptr %xb, %i : ptr<f32>[64]
      %v = load %xp : f32[64]
      %e = exp %v : f32[64]
      %s = sin %e : f32[64]
      %l = log %s : f32[64]
      %t = tanh %l : f32[64]
      %p = pow %t, %v : f32[64]
      store %xp, %p
    })",
                            target);
    for (const char* name : {"expf", "sinf", "logf", "tanhf", "powf"}) CHECK_FALSE(has(k.assembly, name));
  }
}

TEST_CASE("compile: a target that does not exist is named") {
  CHECK_THROWS_WITH_AS(describe_target("sm_1"), doctest::Contains("'sm_1'"), Error);
}

TEST_CASE("compile: functions that passes for GPUs have made are refused elsewhere, and so are their ops without layouts") {
  constexpr const char* kDistributed = R"(kernel @k(%p: ptr<i32>) {
  layout #0 [32] {lane = [[1], [2], [4], [8], [16]]}
  %at = broadcast %p : ptr<i32>[32] #0
  %i = arange {lo = 0, hi = 32} : i32[32] #0
  store %at, %i
})";
  CHECK_THROWS_WITH_AS(
      compiled(kDistributed, "cpu"),
      "test.tile:3:9: error: broadcast: this kernel was prepared for GPUs; cpu compiles kernels as they were traced, without layouts",
      Error);
  CHECK_NOTHROW(compiled(kDistributed, "sm_80"));
  constexpr const char* kTraced = R"(kernel @k() {
  %b = alloc_buffer : buffer<1, i32>[32]
})";
  CHECK_THROWS_WITH_AS(compiled(kTraced, "sm_80"),
                       "test.tile:2:8: error: alloc_buffer: it needs tiles with layouts, as the passes for GPUs make them", Error);
}

TEST_CASE("compile: time does not grow faster than the number of elements") {
  // The code is loops: its size is the same for every tile.
  const auto text = [](int n) {
    std::string s = kMasked;
    for (std::size_t at = 0; (at = s.find("256", at)) != std::string::npos;) s.replace(at, 3, std::to_string(n)), at += 3;
    return s;
  };
  const auto small = compiled(text(256).c_str(), "cpu:x86-64-v3"), large = compiled(text(65536).c_str(), "cpu:x86-64-v3");
  CHECK(large.image.size() < 2 * small.image.size());
}

TEST_CASE("compile: the greatest of a, b and a fused multiply-add of both, which LLVM's simplifier does not survive as it stands") {
  for (const char* extreme : {"maximum", "minimum", "fmax", "fmin"})
    for (const char* type : {"f32", "f64", "f16"})
      for (const char* target : {"cpu", "cpu:x86-64", "sm_75", "sm_90a"}) {
        INFO(extreme, " ", type, " ", target);
        const std::string t = std::string(type) + "[64]", p = std::string("ptr<") + type + ">";
        const std::string load = "  %i = arange {lo = 0, hi = 64} : i32[64]\n  %xs = broadcast %x : " + p +
                                 "[64]\n  %xi = add_ptr %xs, %i : " + p + "[64]\n  %a = load %xi : " + t + "\n  %ys = broadcast %y : " + p +
                                 "[64]\n  %yi = add_ptr %ys, %i : " + p + "[64]\n  %b = load %yi : " + t + "\n";
        const std::string op = std::string(" = ") + extreme + " ";
        const CompiledKernel kernel =
            compiled(("kernel @k(%x: " + p + ", %y: " + p + ") {\n" + load + "  %f = fma %a, %b, %a : " + t + "\n  %m" + op +
                      "%a, %b : " + t + "\n  %r" + op + "%f, %m : " + t + "\n  %s" + op + "%r, %f : " + t + "\n  store %xi, %s\n}\n")
                         .c_str(),
                     target);
        CHECK_FALSE(kernel.image.empty());
      }
}

TEST_CASE("compile: a bug in the lowering is an exception with a reproducer, and the next compilation works") {
  for (const char* target : {"cpu", "sm_80"}) {
    CompileOptions options;
    options.target = target;
    const auto compile_masked = [&](const CompileHooks& hooks) {
      return compile(ir::parse(kMasked, "test.tile").functions.at(0), options, hooks);
    };
    const auto expected = compile_masked({}).image;
    // Behind LLVM's optimisation: its module, context and target machine are unwound.
    const CompileHooks planted{.keep_text = false,
                               .dump = [](const std::string& stage, const std::string&) { TW_CHECK(stage != "llvm", "planted"); }};
    std::string reproducer;
    try {
      compile_masked(planted);
    } catch (const CompilerBug& bug) {
      CHECK(has(bug.what(), ": planted (stage != \"llvm\")\n  in the lowering of kernel 'double' for"));
      CHECK(has(bug.what(), bug.reproducer().c_str()));
      reproducer = bug.reproducer();
    }
    std::ifstream in(reproducer);
    const std::string left{std::istreambuf_iterator<char>(in), {}};
    in.close();
    CHECK(std::filesystem::remove(reproducer));
    CHECK(ir::parse(left, "left.tile").functions.at(0).name == "double");
    CHECK(compile_masked({}).image == expected);
  }
}

TEST_CASE("compile: errors that LLVM diagnoses are bugs of the compiler, not the end of the process") {
  llvm::LLVMContext context;
  const LlvmErrors errors(context);
  errors.expect_none();
  context.emitError("first");
  context.emitError("second");
  CHECK_THROWS_WITH_AS(errors.expect_none(), doctest::Contains("LLVM reports: first; second"), CompilerBug);
}

TEST_CASE("host: LLVM does not look for shuffles of shuffles in a transposition") {
  constexpr const char* kTransposed = R"(kernel @transpose(%x: ptr<const f32> {disjoint}, %y: ptr<f32> {disjoint}) {
  %i = arange {lo = 0, hi = 64} : i32[64]
  %size = constant {value = 64} : i32[64, 1]
  %column = reshape %i : i32[64, 1]
  %row = reshape %i : i32[1, 64]
  %first = mul %column, %size : i32[64, 1]
  %fb = broadcast %first : i32[64, 64]
  %rb = broadcast %row : i32[64, 64]
  %at = add %fb, %rb : i32[64, 64]
  %xb = broadcast %x : ptr<const f32>[64, 64]
  %from = add_ptr %xb, %at : ptr<const f32>[64, 64]
  %v = load %from : f32[64, 64]
  %t = permute %v {axes = [1, 0]} : f32[64, 64]
  %yb = broadcast %y : ptr<f32>[64, 64]
  %to = add_ptr %yb, %at : ptr<f32>[64, 64]
  store %to, %t
})";
  for (const char* target : {"cpu:x86-64", "cpu:x86-64-v3", "cpu:x86-64-v4"})
    CHECK(has(compiled(kTransposed, target).llvm_ir, "@llvm.arithmetic.fence"));
}

}  // namespace tilewright::backend
