// For which loads the host fetches what the next program loads: those whose tile a later loop nest reads again.
#include <doctest/doctest.h>

#include <string>

#include "backend/compile.h"
#include "tileir/text/parser.h"

namespace tilewright::backend {

namespace {

/// The prefetches of a kernel that loads %x: f32[256] at %a + %at, and stores %y: f32[256]. `at` computes %at: i32 from the program's number
/// %pid and from %n; `work` computes %y.
int prefetches(const std::string& at, const std::string& work, bool check = false, const char* target = "cpu:x86-64-v4") {
  const std::string text = R"(kernel @k(%a: ptr<const f32> {disjoint}, %o: ptr<f32> {disjoint}, %n: i32, %width: i32) {
    %pid = program_id {axis = 0} : i32
)" + at + R"(
    %first = add_ptr %a, %at : ptr<const f32>
    %i = arange {lo = 0, hi = 256} : i32[256]
    %wb = broadcast %width : i32[256]
    %m = lt %i, %wb : i1[256]
    %fb = broadcast %first : ptr<const f32>[256]
    %p = add_ptr %fb, %i : ptr<const f32>[256]
    %x = load %p, %m : f32[256]
)" + work + R"(
    %size = constant {value = 256} : i32
    %to = mul %pid, %size : i32
    %out = add_ptr %o, %to : ptr<f32>
    %ob = broadcast %out : ptr<f32>[256]
    %q = add_ptr %ob, %i : ptr<f32>[256]
    store %q, %y
  })";
  CompileOptions options;
  options.target = target;
  options.check = check;
  const std::string code = compile(ir::parse(text, "test.tile").functions.at(0), options, {.keep_text = true, .dump = {}}).llvm_ir;
  int found = 0;
  for (std::size_t n = 0; (n = code.find("call void @llvm.prefetch", n)) != std::string::npos; ++n)
    found += code.substr(n, code.find('\n', n) - n).find(", i32 0, ") != std::string::npos;  // for a load
  return found;
}

const std::string kRow = "    %at = mul %pid, %n : i32";
const std::string kTwoPasses = R"(    %sum = reduce %x {axis = 0, commutative} : f32 (%s: f32, %t: f32) {
      %u = add %s, %t : f32
      yield %u
    }
    %sums = broadcast %sum : f32[256]
    %y = sub %x, %sums : f32[256])";

}  // namespace

TEST_CASE("next program: its row is fetched while a nest computes with this one's") {
  for (const char* target : {"cpu:x86-64-v4", "cpu:x86-64-v3", "cpu:x86-64"}) CHECK(prefetches(kRow, kTwoPasses, false, target) > 0);
  CHECK(prefetches(R"(    %matrix = div %pid, %width : i32
    %row = rem %pid, %width : i32
    %from = mul %matrix, %n : i32
    %length = constant {value = 256} : i32
    %further = mul %row, %length : i32
    %at = add %from, %further : i32)",
                   kTwoPasses) > 0);
}

TEST_CASE("next program: nothing is fetched for a tile that is read once, for one that all programs read, or at unknown distances") {
  CHECK(prefetches(kRow, "    %y = add %x, %x : f32[256]") == 0);
  CHECK(prefetches("    %at = mul %n, %n : i32", kTwoPasses) == 0);
  CHECK(prefetches("    %at = mul %pid, %pid : i32", kTwoPasses) == 0);
  CHECK(prefetches("    %at = bit_xor %pid, %n : i32", kTwoPasses) == 0);
  CHECK(prefetches(kRow, kTwoPasses, true) == 0);
}

}  // namespace tilewright::backend
