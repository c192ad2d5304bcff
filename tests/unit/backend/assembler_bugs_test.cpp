// The back end avoids PTX that NVIDIA's assembler compiles wrongly.
#include "backend/nvptx/assembler_bugs.h"

#include <doctest/doctest.h>

#include "backend/compile.h"
#include "runtime/ptx_lint.h"
#include "tests/messages.h"
#include "tileir/text/parser.h"

using namespace tilewright;
using backend::nvptx::avoid_assembler_bugs;

namespace {

std::string ptx_of(const char* tile_ir, int num_warps = 1) {
  ir::Module m = ir::parse(tile_ir, "test");
  const auto compiled = backend::compile(std::move(m.functions.at(0)), {.target = "sm_90a", .num_warps = num_warps});
  return {reinterpret_cast<const char*>(compiled.image.data()), compiled.image.size()};
}

using tilewright::test::has;

}  // namespace

TEST_CASE("assembler bugs: a signed byte or half of a word is taken by prmt, with the sign repeated") {
  CHECK(avoid_assembler_bugs("\tbfe.s32 \t%r2, %r1, 0, 8;\n") == "\tprmt.b32 \t%r2, %r1, 0, 0x8880;\n");
  CHECK(avoid_assembler_bugs("bfe.s32 %r2, %r1, 8, 8;") == "prmt.b32 \t%r2, %r1, 0, 0x9991;");
  CHECK(avoid_assembler_bugs("bfe.s32 %r2, %r1, 24, 8;") == "prmt.b32 \t%r2, %r1, 0, 0xbbb3;");
  CHECK(avoid_assembler_bugs("bfe.s32 %r2, %r1, 0, 16;") == "prmt.b32 \t%r2, %r1, 0, 0x9910;");
  CHECK(avoid_assembler_bugs("bfe.s32 %r2, %r1, 8, 16;") == "prmt.b32 \t%r2, %r1, 0, 0xaa21;");
  CHECK(avoid_assembler_bugs("bfe.s32 %r2, %r1, 16, 16;") == "prmt.b32 \t%r2, %r1, 0, 0xbb32;");
  for (const char* kept : {"bfe.s32 %r2, %r1, 4, 8;", "bfe.s32 %r2, %r1, 0, 5;", "bfe.s32 %r2, %r1, %r3, 8;", "bfe.u32 %r2, %r1, 0, 8;",
                           "bfe.s32 %r2, %r1, 24, 16;", "bfe.s32 %r2, %r1, 0, 8"})
    CHECK(avoid_assembler_bugs(kept) == kept);
}

TEST_CASE("assembler bugs: min and max of 16 bits are taken of 32") {
  CHECK(avoid_assembler_bugs("\tmin.u16 \t%rs3, %rs1, %rs2;\n") ==
        "\t{ .reg .b32 %wide<2>; cvt.u32.u16 %wide0, %rs1; cvt.u32.u16 %wide1, %rs2; min.u32 %wide0, %wide0, %wide1; cvt.u16.u32 %rs3, "
        "%wide0; }\n");
  CHECK(avoid_assembler_bugs("max.s16 %rs3, %rs1, -7;") ==
        "{ .reg .b32 %wide<2>; cvt.s32.s16 %wide0, %rs1; mov.b32 %wide1, -7; max.s32 %wide0, %wide0, %wide1; cvt.u16.u32 %rs3, %wide0; }");
  CHECK(avoid_assembler_bugs("min.u16 %rs3, %rs1, -2;").find("mov.b32 %wide1, 65534;") != std::string::npos);
  CHECK(avoid_assembler_bugs("min.s16 %rs3, %rs1, 65534;").find("mov.b32 %wide1, -2;") != std::string::npos);
  for (const char* kept : {"min.u16x2 %r3, %r1, %r2;", "min.u32 %r3, %r1, %r2;"}) CHECK(avoid_assembler_bugs(kept) == kept);
}

TEST_CASE("assembler bugs: negation and size of 16 bits are taken of 32") {
  CHECK(avoid_assembler_bugs("\tneg.s16 \t%rs2, %rs1;\n") ==
        "\t{ .reg .b32 %wide; cvt.s32.s16 %wide, %rs1; neg.s32 %wide, %wide; cvt.u16.u32 %rs2, %wide; }\n");
  CHECK(avoid_assembler_bugs("abs.s16 %rs2, %rs1;") ==
        "{ .reg .b32 %wide; cvt.s32.s16 %wide, %rs1; abs.s32 %wide, %wide; cvt.u16.u32 %rs2, %wide; }");
  CHECK(avoid_assembler_bugs("neg.s32 %r2, %r1;") == "neg.s32 %r2, %r1;");
}

TEST_CASE("assembler bugs: a constant beside a variable is not a pair of f16") {
  const char* text = R"(
kernel @pairs(%in: ptr<const f16> {divisible_by = 16}, %out: ptr<f16> {divisible_by = 16}) {
  %i = arange {lo = 0, hi = 64} : i32[64]
  %p = broadcast %in : ptr<const f16>[64]
  %q = add_ptr %p, %i : ptr<const f16>[64]
  %x = load %q : f16[64]
  %c = constant {value = -2.0} : f16[64]
  %j = join %c, %x : f16[64, 2]
  %y = fma %j, %j, %j : f16[64, 2]
  %r = arange {lo = 0, hi = 128} : i32[128]
  %s = reshape %r : i32[64, 2]
  %o = broadcast %out : ptr<f16>[64, 2]
  %t = add_ptr %o, %s : ptr<f16>[64, 2]
  store %t, %y
}
)";
  const std::string ptx = ptx_of(text);
  CHECK(has(ptx, "fma.rn.f16 "));
  CHECK_FALSE(has(ptx, "fma.rn.f16x2"));
}

TEST_CASE("assembler bugs: signed bytes become unsigned numbers and then floating point") {
  const std::string ptx = ptx_of(R"(
kernel @bytes(%in: ptr<const i8> {divisible_by = 16}, %out: ptr<f32> {divisible_by = 16}) {
  %i = arange {lo = 0, hi = 128} : i32[128]
  %p = broadcast %in : ptr<const i8>[128]
  %q = add_ptr %p, %i : ptr<const i8>[128]
  %x = load %q : i8[128]
  %u = cast %x : u32[128]
  %y = cast %u : f32[128]
  %r = broadcast %out : ptr<f32>[128]
  %s = add_ptr %r, %i : ptr<f32>[128]
  store %s, %y
}
)");
  CHECK(rt::read_ptx(ptx).problems == std::vector<std::string>{});
  CHECK(has(ptx, "cvt.rn.f32.u32"));
}

TEST_CASE("assembler bugs: a range whose counter would wrap around counts its passes") {
  const auto range = [](const char* lo, const char* hi, const char* step) {
    return ptx_of((std::string("kernel @range(%out: ptr<i32>) {\n  %lo = constant {value = ") + lo +
                   "} : i32\n  %hi = constant {value = " + hi + "} : i32\n  %step = constant {value = " + step + R"(} : i32
  %zero = constant {value = 0} : i32
  %n = for %lo, %hi, %step, %zero : i32 (%i: i32, %c: i32) {
    %d = add %c, %i : i32
    yield %d
  }
  store %out, %n
}
)")
                      .c_str());
  };
  CHECK(has(range("2147483647", "-2147483648", "-1073741824"), ", 4;"));
  CHECK(has(range("-2147483648", "2147483647", "1073741824"), ", 4;"));
  CHECK_FALSE(has(range("0", "2147483647", "1073741824"), "mov.b32 %r"));
}
