// The interpreter on whole-tile ops, atomics, scaled products and reports: small cases with results computed by hand.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tileir/interpreter/interpreter.h"
#include "tileir/text/parser.h"
#include "tileir/verifier.h"

using namespace tilewright::ir;

namespace {

/// Runs the one kernel of a text; every argument is the address of a vector of the test, or a word.
void run(const std::string& text, std::vector<std::uint64_t> arguments, InterpretOptions options = {}) {
  const Module m = parse(text, "test.tile");
  verify_or_throw(m.functions[0]);
  interpret(m.functions[0], arguments, options);
}
template <class T>
std::uint64_t at(std::vector<T>& v) {
  return reinterpret_cast<std::uint64_t>(v.data());
}

/// Loads x[8], applies the lines in between to %x, and stores %y.
std::string unary(const std::string& element, const std::string& lines, const std::string& out = "") {
  const std::string to = out.empty() ? element : out;
  return "kernel @test(%p: ptr<" + element + ">, %q: ptr<" + to +
         ">) {\n  %i = arange {lo = 0, hi = 8} : i32[8]\n  %pp = broadcast %p : ptr<" + element + ">[8]\n  %a = add_ptr %pp, %i : ptr<" +
         element + ">[8]\n  %x = load %a : " + element + "[8]\n" + lines + "  %qq = broadcast %q : ptr<" + to +
         ">[8]\n  %b = add_ptr %qq, %i : ptr<" + to + ">[8]\n  store %b, %y\n}\n";
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("interpreter: scan gives the running combinations, from either end") {
  std::vector<std::int32_t> x{1, 2, 3, 4, 5, 6, 7, 8}, y(8);
  const std::string body = " : i32[8] (%e: i32, %l: i32) {\n    %s = sub %e, %l : i32\n    yield %s\n  }\n";
  run(unary("i32", "  %y = scan %x {axis = 0}" + body), {at(x), at(y)});
  CHECK(y == std::vector<std::int32_t>{1, -1, -4, -8, -13, -19, -26, -34});
  run(unary("i32", "  %y = scan %x {axis = 0, reverse}" + body), {at(x), at(y)});
  CHECK(y == std::vector<std::int32_t>{-20, -19, -17, -14, -10, -5, 1, 8});
}

TEST_CASE("interpreter: scan runs along its axis only, over several tiles at once") {
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8}, y(8);
  run(unary("f32",
            "  %m = reshape %x : f32[2, 4]\n"
            "  %s, %t = scan %m, %m {axis = 0} : f32[2, 4], f32[2, 4] (%e: f32, %g: f32, %h: f32, %k: f32) {\n"
            "    %p1 = mul %e, %h : f32\n    %p2 = fma %g, %h, %k : f32\n    yield %p1, %p2\n  }\n  %y = reshape %t : f32[8]\n"),
      {at(x), at(y)});
  CHECK(y == std::vector<float>{1, 2, 3, 4, 1 * 5 + 5, 2 * 6 + 6, 3 * 7 + 7, 4 * 8 + 8});
}

TEST_CASE("interpreter: sort is stable, has NaN last either way and takes +0 and -0 as equal") {
  std::vector<float> x{0.0f, kNan, -0.0f, 3, -kInf, kInf, -0.0f, 3}, y(8);
  std::vector<std::int32_t> order(8);
  const auto bits = [](float f) { return std::bit_cast<std::uint32_t>(f); };
  run(unary("f32", "  %y = sort %x : f32[8]\n"), {at(x), at(y)});
  CHECK(y[0] == -kInf);
  CHECK((bits(y[1]) == bits(0.0f) && bits(y[2]) == bits(-0.0f) && bits(y[3]) == bits(-0.0f)));
  CHECK((y[4] == 3 && y[5] == 3 && y[6] == kInf && std::isnan(y[7])));
  run(unary("f32", "  %k, %y = sort %x, %i {descending} : f32[8], i32[8]\n", "i32"), {at(x), at(order)});
  CHECK(order == std::vector<std::int32_t>{5, 3, 7, 0, 2, 6, 4, 1});
}

TEST_CASE("interpreter: sort compares signed and unsigned integers as such") {
  std::vector<std::int8_t> x{5, -1, 127, -128, 0, 1, -2, 2}, y(8);
  run(unary("i8", "  %y = sort %x : i8[8]\n"), {at(x), at(y)});
  CHECK(y == std::vector<std::int8_t>{-128, -2, -1, 0, 1, 2, 5, 127});
  std::vector<std::uint8_t> u{5, 255, 127, 128, 0, 1, 254, 2}, v(8);
  run(unary("u8", "  %y = sort %x {descending} : u8[8]\n"), {at(u), at(v)});
  CHECK(v == std::vector<std::uint8_t>{255, 254, 128, 127, 5, 2, 1, 0});
}

TEST_CASE("interpreter: sort keeps the first of each row") {
  std::vector<std::int32_t> x{4, 1, 3, 2, 8, 6, 7, 5}, y(4);
  run("kernel @test(%p: ptr<i32>, %q: ptr<i32>) {\n  %i = arange {lo = 0, hi = 8} : i32[8]\n  %pp = broadcast %p : ptr<i32>[8]\n"
      "  %a = add_ptr %pp, %i : ptr<i32>[8]\n  %x = load %a : i32[8]\n  %m = reshape %x : i32[2, 4]\n"
      "  %s = sort %m {descending, count = 2} : i32[2, 2]\n  %y = reshape %s : i32[4]\n  %j = arange {lo = 0, hi = 4} : i32[4]\n"
      "  %qq = broadcast %q : ptr<i32>[4]\n  %b = add_ptr %qq, %j : ptr<i32>[4]\n  store %b, %y\n}\n",
      {at(x), at(y)});
  CHECK(y == std::vector<std::int32_t>{4, 3, 8, 7});
}

TEST_CASE("interpreter: gather takes the index modulo the extent, along its axis") {
  std::vector<std::int32_t> x{10, 11, 12, 13, 14, 15, 16, 17}, y(8);
  run(unary("i32", "  %k = constant {value = -1} : i32[8]\n  %n = add %i, %k : i32[8]\n  %y = gather %x, %n {axis = 0} : i32[8]\n"),
      {at(x), at(y)});
  CHECK(y == std::vector<std::int32_t>{17, 10, 11, 12, 13, 14, 15, 16});
  // index[i, j] names a row of x[4, 2]; columns stay.
  run(unary("i32",
            "  %m = reshape %x : i32[4, 2]\n  %c = constant {value = 3} : i32[8]\n  %n = mul %i, %c : i32[8]\n"
            "  %k = reshape %n : i32[4, 2]\n  %g = gather %m, %k {axis = 0} : i32[4, 2]\n  %y = reshape %g : i32[8]\n"),
      {at(x), at(y)});  // index: 0 3 / 6 9 / 12 15 / 18 21, modulo 4: 0 3 / 2 1 / 0 3 / 2 1
  CHECK(y == std::vector<std::int32_t>{10, 17, 14, 13, 10, 17, 14, 13});
}

TEST_CASE("interpreter: histogram counts what lies in its bins") {
  std::vector<std::int32_t> x{0, 7, 8, -1, 7, 3, 7, 1 << 30}, y(8);
  run(unary("i32", "  %y = histogram %x {bins = 8} : i32[8]\n"), {at(x), at(y)});
  CHECK(y == std::vector<std::int32_t>{1, 0, 0, 1, 0, 0, 0, 3});
  run(unary("i32", "  %c = constant {value = 4} : i32[8]\n  %m = lt %i, %c : i1[8]\n  %y = histogram %x, %m {bins = 8} : i32[8]\n"),
      {at(x), at(y)});
  CHECK(y == std::vector<std::int32_t>{1, 0, 0, 0, 0, 0, 0, 1});
}

TEST_CASE("interpreter: lanes of an atomic act one after the other, masked ones not at all") {
  std::vector<std::int32_t> counter{100, -7}, x{1, 2, 3, 4, 5, 6, 7, 8}, old(8);
  run("kernel @test(%c: ptr<i32>, %p: ptr<i32>, %q: ptr<i32>) {\n  %i = arange {lo = 0, hi = 8} : i32[8]\n  %pp = broadcast %p : "
      "ptr<i32>[8]\n"
      "  %a = add_ptr %pp, %i : ptr<i32>[8]\n  %x = load %a : i32[8]\n  %k = constant {value = 3} : i32[8]\n  %m = ge %i, %k : i1[8]\n"
      "  %cc = broadcast %c : ptr<i32>[8]\n  %y = atomic_add %cc, %x, %m : i32[8]\n  %qq = broadcast %q : ptr<i32>[8]\n"
      "  %b = add_ptr %qq, %i : ptr<i32>[8]\n  store %b, %y\n}\n",
      {at(counter), at(x), at(old)});
  CHECK(counter == std::vector<std::int32_t>{130, -7});
  CHECK(old == std::vector<std::int32_t>{0, 0, 0, 100, 104, 109, 115, 122});
}

TEST_CASE("interpreter: each atomic writes what its row says") {
  const auto after = [](const std::string& op, std::int32_t memory, std::int32_t value) {
    std::vector<std::int32_t> m{memory};
    run("kernel @test(%p: ptr<i32>, %v: i32) {\n  %y = " + op + " : i32\n}\n", {at(m), static_cast<std::uint32_t>(value)});
    return m[0];
  };
  CHECK(after("atomic_max %p, %v", -5, 3) == 3);
  CHECK(after("atomic_max %p, %v", 5, -3) == 5);
  CHECK(after("atomic_min %p, %v", 5, -3) == -3);
  CHECK(after("atomic_and %p, %v", 12, 10) == 8);
  CHECK(after("atomic_or %p, %v", 12, 10) == 14);
  CHECK(after("atomic_xor %p, %v", 12, 10) == 6);
  CHECK(after("atomic_exchange %p, %v", 12, 10) == 10);
  CHECK(after("atomic_cas %p, %v, %v", 12, 10) == 12);
  CHECK(after("atomic_add %p, %v", INT32_MAX, 1) == INT32_MIN);
  CHECK(after("atomic_update %p, %v : i32 (%a: i32, %b: i32) {\n  %s = sub %a, %b : i32\n  yield %s\n  }\n  %z = atomic_or %p, %v", 12,
              10) == (2 | 10));
}

TEST_CASE("interpreter: float atomics have NaN win, and a cas compares bits") {
  std::vector<float> m{1};
  const std::string max = "kernel @test(%p: ptr<f32>, %v: f32) {\n  %y = atomic_max %p, %v : f32\n}\n";
  run(max, {at(m), std::bit_cast<std::uint32_t>(kNan)});
  CHECK(std::isnan(m[0]));
  m[0] = -0.0f;
  const std::string cas = "kernel @test(%p: ptr<f32>, %v: f32) {\n  %y = atomic_cas %p, %v, %v : f32\n  %z = atomic_add %p, %y : f32\n}\n";
  run(cas, {at(m), std::bit_cast<std::uint32_t>(0.0f)});
  CHECK(std::bit_cast<std::uint32_t>(m[0]) == std::bit_cast<std::uint32_t>(-0.0f));
}

TEST_CASE("interpreter: dot_scaled multiplies elements by the scale of their block of K") {
  // a: one row of 64 ones, scales 2^1 and 2^-1; b: 64 e2m1 pairs along K, the even ones 2, the odd ones -0.5, scale 2^2.
  std::vector<std::uint8_t> a(64, 0x38), a_scale{128, 126}, b(32, 0x94), b_scale{129, 129};
  std::vector<float> out{1};
  const std::string text = R"(kernel @test(%a: ptr<f8e4m3>, %sa: ptr<u8>, %b: ptr<u8>, %sb: ptr<u8>, %out: ptr<f32>) {
  %i64 = arange {lo = 0, hi = 64} : i32[64]
  %i32 = arange {lo = 0, hi = 32} : i32[32]
  %i2 = arange {lo = 0, hi = 2} : i32[2]
  %pa = broadcast %a : ptr<f8e4m3>[64]
  %aa = add_ptr %pa, %i64 : ptr<f8e4m3>[64]
  %la = load %aa : f8e4m3[64]
  %ta = reshape %la : f8e4m3[1, 64]
  %psa = broadcast %sa : ptr<u8>[2]
  %asa = add_ptr %psa, %i2 : ptr<u8>[2]
  %lsa = load %asa : u8[2]
  %tsa = reshape %lsa : u8[1, 2]
  %pb = broadcast %b : ptr<u8>[32]
  %ab = add_ptr %pb, %i32 : ptr<u8>[32]
  %lb = load %ab : u8[32]
  %tb = reshape %lb : u8[32, 1]
  %psb = broadcast %sb : ptr<u8>[2]
  %asb = add_ptr %psb, %i2 : ptr<u8>[2]
  %lsb = load %asb : u8[2]
  %tsb = reshape %lsb : u8[1, 2]
  %acc = load %out : f32
  %tacc = broadcast %acc : f32[1, 1]
  %d = dot_scaled %ta, %tsa, %tb, %tsb, %tacc : f32[1, 1]
  %po = broadcast %out : ptr<f32>[1, 1]
  store %po, %d
})";
  run(text, {at(a), at(a_scale), at(b), at(b_scale), at(out)});
  // Per pair 1 * (2 - 0.5) * 4 = 6; 16 pairs a block, scaled by 2 and by 1/2.
  CHECK(out[0] == 1 + 16 * 6 * 2 + 16 * 6 / 2);
  a_scale[1] = 255;
  run(text, {at(a), at(a_scale), at(b), at(b_scale), at(out)});
  CHECK(std::isnan(out[0]));
}

TEST_CASE("interpreter: products of bf16 in blocks are added in two sums, without subnormal numbers") {
  constexpr int kRows = 16, kDepth = 32;
  const auto bits = [](float x) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16); };
  // Column 0 of b is 1, column 1 is 2^-70, the others are 0.
  std::vector<std::uint16_t> a(kRows * kDepth), b(kDepth * kRows);
  for (int k = 0; k < kDepth; ++k) b[k * kRows] = bits(1), b[k * kRows + 1] = bits(0x1p-70f);
  const auto set = [&](int row, int k, float x) { a[row * kDepth + k] = bits(x); };
  for (int k = 0; k < kDepth; ++k) set(0, k, k == 0 ? 0x1p24f : 1);
  set(1, 0, 0x1p-130f);                         // a subnormal factor
  set(2, 0, 0x1p-70f);                          // a subnormal product
  set(3, 0, 0x1p-56f), set(3, 2, -0x1.8p-81f);  // 2^-126 (1 - 1.5 * 2^-25) is below the least normal number with 24 digits
  set(4, 0, 0x1p-56f), set(4, 2, -0x1p-82f);    // 2^-126 (1 - 2^-26) is not
  set(6, 0, kInf);
  const auto product = [&](const std::string& precision, bool has_blocks) {
    std::vector<float> sums(kRows * kRows);
    sums[5 * kRows] = 0x1p-140f;
    const std::string text = R"(kernel @test(%a: ptr<bf16>, %b: ptr<bf16>, %c: ptr<f32>) {
  %i = arange {lo = 0, hi = 512} : i32[512]
  %j = arange {lo = 0, hi = 256} : i32[256]
  %ab = broadcast %a : ptr<bf16>[512]
  %ap = add_ptr %ab, %i : ptr<bf16>[512]
  %al = load %ap : bf16[512]
  %at = reshape %al : bf16[16, 32]
  %bb = broadcast %b : ptr<bf16>[512]
  %bp = add_ptr %bb, %i : ptr<bf16>[512]
  %bl = load %bp : bf16[512]
  %bt = reshape %bl : bf16[32, 16]
  %cb = broadcast %c : ptr<f32>[256]
  %cp = add_ptr %cb, %j : ptr<f32>[256]
  %cl = load %cp : f32[256]
  %ct = reshape %cl : f32[16, 16]
  %d = dot %at, %bt, %ct)" + precision +
                             R"( : f32[16, 16]
  %dl = reshape %d : f32[256]
  store %cp, %dl
})";
    InterpretOptions options;
    options.reduction.has_bf16_blocks = has_blocks;
    run(text, {at(a), at(b), at(sums)}, options);
    return sums;
  };
  const std::vector<float> blocks = product("", true);
  CHECK(blocks[0] == 0x1p24f + 16);  // the products with odd k are added apart
  CHECK(blocks[1 * kRows] == 0);
  CHECK(blocks[2 * kRows + 1] == 0);
  CHECK(blocks[3 * kRows + 1] == 0);
  CHECK(blocks[4 * kRows + 1] == 0x1p-126f);
  CHECK(blocks[5 * kRows] == 0);  // a subnormal accumulator
  CHECK(blocks[6 * kRows] == kInf);
  CHECK(std::isnan(blocks[6 * kRows + 2]));
  for (const bool has_blocks : {false, true}) {
    const std::vector<float> in_order = product(has_blocks ? " {precision = ieee}" : "", has_blocks);
    CHECK(in_order[0] == 0x1p24f);
    CHECK(in_order[1 * kRows] == 0x1p-130f);
    CHECK(in_order[2 * kRows + 1] == 0x1p-140f);
    CHECK(in_order[3 * kRows + 1] == 0x1p-126f);
    CHECK(in_order[5 * kRows] == 0x1p-140f);
  }
}

TEST_CASE("interpreter: reports go to the listener, in order") {
  std::vector<std::string> seen;
  const Module m = parse(
      "kernel @test(%v: i32, %m: i1) {\n  device_print %v {text = \"v = {}\"}\n  %i = arange {lo = 0, hi = 4} : i32[4]\n"
      "  %t = broadcast %v : i32[4]\n  %c = lt %i, %t : i1[4]\n  device_assert %c {text = \"below v\"}\n"
      "  device_assert %m {text = \"m\"}\n}\n",
      "test.tile");
  const Function& f = m.functions[0];
  InterpretOptions options;
  options.grid = {1, 2, 1};
  options.report = [&](const Report& r) {
    seen.push_back(f.attr_text(r.op, AttrName::text) + " " + std::to_string(r.program[1]) + " " + std::to_string(r.lane) +
                   (r.operands.empty() ? "" : " = " + std::to_string(r.operands[0]->bits[0])));
  };
  const std::uint64_t arguments[] = {3, 1};
  interpret(f, arguments, options);
  CHECK(seen == std::vector<std::string>{"v = {} 0 -1 = 3", "below v 0 3", "v = {} 1 -1 = 3", "below v 1 3"});
}

TEST_CASE("interpreter: inline_ptx is its fallback, or an error") {
  const std::string head = "kernel @test(%p: ptr<f32>, %v: f32) {\n  %y = inline_ptx %v";
  std::vector<float> out{0};
  run(head + ", %v {text = \"mov.f32 $0, $1;\", constraints = \"=f,f\", has_fallback} : f32\n  store %p, %y\n}\n",
      {at(out), std::bit_cast<std::uint32_t>(2.0f)});
  CHECK(out[0] == 2);
  CHECK_THROWS_WITH(run(head + " {text = \"\", constraints = \"=f,f\"} : f32\n}\n", {at(out), 0}), doctest::Contains("test.tile:2:"));
}
