// PTX that the emulator's parser accepts, and errors that name the line.
#include <doctest/doctest.h>

#include "tests/unit/emulator/harness.h"
#include "tilewright/error.h"

namespace tilewright::rt::emulator {
namespace {

std::string error_of(const std::string& text) {
  try {
    LoadedModule::load(text, "t.ptx");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// The error of a body whose first line is line 10 of the module.
std::string body_error(const std::string& body) { return error_of(module_of("", body)); }

}  // namespace

TEST_CASE("emulator ptx: what is not PTX is refused with its line") {
  CHECK(error_of("hello") == "t.ptx:1: error: a PTX text starts with '.version', not 'hello'");
  CHECK(error_of(".version 8.0\n.target sm_80\n.address_size 32") == "t.ptx:3: error: only '.address_size 64' is supported");
  CHECK(error_of(".version 8.0\n.frob 1") == "t.ptx:2: error: unknown directive '.frob'");
  CHECK(error_of(".version 8.0\n/* never ends") == "t.ptx:2: error: a comment without '*/'");
  CHECK(body_error("mov.u32 %r1, 0x123456789abcdef01;") == "t.ptx:11: error: '0x123456789abcdef01' is not a number of 64 bits in base 16");
  CHECK(body_error("mov.u32 %r1 5;") == "t.ptx:11: error: expected ';', not '5'");
  CHECK(body_error(".reg .b32 %r<4>;") == "t.ptx:11: error: the register '%r' is declared twice");
  CHECK(body_error("bra NOWHERE;") == "t.ptx:11: error: unknown name 'NOWHERE'");
}

TEST_CASE("emulator ptx: unknown instructions, modifiers and operands are never skipped") {
  CHECK(body_error("\nfrobnicate.b32 %r1, %r2;") == "t.ptx:12: error: 'frobnicate.b32': unknown instruction");
  CHECK(body_error("add.frob.s32 %r1, %r2, %r3;") == "t.ptx:11: error: 'add.frob.s32': unknown modifier '.frob'");
  CHECK(body_error("add.s32 %r1, %r2;") == "t.ptx:11: error: 'add.s32': 2 operands, not 3");
  CHECK(body_error("add.s32 %d1, %r2, %r3;") == "t.ptx:11: error: 'add.s32': '%d1' is 64 bits, not 32 bits");
  CHECK(body_error("add.s32 %r1, %r2, %r99;") == "t.ptx:11: error: 'add.s32': unknown register '%r99'");
  CHECK(body_error("add.f32 %r1, %r2, 7;") == "t.ptx:11: error: 'add.f32': '7' is not a floating-point constant");
  CHECK(body_error("cvt.f16.f32 %h1, %r2;") == "t.ptx:11: error: 'cvt.f16.f32': a rounding such as '.rn' is missing");
  CHECK(body_error("cvt.rzi.f32.s32 %r1, %r2;") == "t.ptx:11: error: 'cvt.rzi.f32.s32': integers need no rounding to integers");
  CHECK(body_error("fma.f32 %r1, %r2, %r3, %r4;") == "t.ptx:11: error: 'fma.f32': a rounding is missing");
  CHECK(body_error("ld.global.b32 {%r1, %r2}, [%d1];") == "t.ptx:11: error: 'ld.global.b32': 2 values, not 1");
  CHECK(body_error("ld.global.v2.b32 %r1, [%d1];") == "t.ptx:11: error: 'ld.global.v2.b32': 1 values, not 2");
  CHECK(body_error("st.const.u32 [%d1], %r1;") == "t.ptx:11: error: 'st.const.u32': const memory cannot be stored to");
}

TEST_CASE("emulator ptx: what ptxas refuses for the target is refused") {
  const std::string wide = "ld.global.v8.f32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%d1];";
  CHECK(body_error(wide) == "t.ptx:11: error: 'ld.global.v8.f32': accesses of 256 bits need '.target sm_100' or higher");
  CHECK(error_of(hopper_module_of("", wide)).find("accesses of 256 bits need '.target sm_100' or higher") != std::string::npos);
  std::string blackwell = hopper_module_of("", wide);
  blackwell.replace(blackwell.find("sm_90a"), 6, "sm_100");
  CHECK(error_of(blackwell) == "no error");
  CHECK(body_error("ld.mmio.global.u32 %r1, [%d1];") == "t.ptx:11: error: 'ld.mmio.global.u32': '.mmio' needs '.relaxed'");
  CHECK(body_error("ld.mmio.relaxed.gpu.global.u32 %r1, [%d1];") ==
        "t.ptx:11: error: 'ld.mmio.relaxed.gpu.global.u32': '.mmio' needs '.sys'");
  CHECK(body_error("ld.mmio.relaxed.sys.global.u32 %r1, [%d1];\nst.mmio.relaxed.sys.u32 [%d1], %r1;") == "no error");
  CHECK(body_error("add.sat.s16x2 %r1, %r2, %r3;") == "t.ptx:11: error: 'add.sat.s16x2': unknown modifier '.sat'");
  CHECK(body_error("sub.u16x2 %r1, %r2, %r3;") == "t.ptx:11: error: 'sub.u16x2': no instruction of this type");
  CHECK(body_error("lop3.or.b32 %r1, %r2, %r3, %r4, 0x3f, %p1;") ==
        "t.ptx:11: error: 'lop3.or.b32': '.or' or '.and' and a result 'd|p' go together");
}

TEST_CASE("emulator ptx: the sizes of shared memory") {
  Bench bench(module_of(".param .u64 out", R"(
    .shared .b32 tile[100];
    mov.u32 %r1, %dynamic_smem_size;
    mov.u32 %r2, %total_smem_size;
    mov.u32 %r3, %aggr_smem_size;
    mov.u32 %r4, tile;
    ld.param.u64 %d1, [out];
    st.global.v4.u32 [%d1], {%r1, %r2, %r3, %r4};)"));
  Array<u32> out(bench.memory, 4, 0);
  Params params;
  REQUIRE(bench.run("k", {1, 1, 1}, {1, 1, 1}, params.add(out.address()), 256));
  CHECK(out.values() == std::vector<u32>{256, 656, 656 + 1024, 0});
}

TEST_CASE("emulator ptx: calls of functions that are not there are refused") {
  const std::string text =
      module_of("", "{ .param .b32 p; call.uni (p), sinf, (p); }", ".extern .func (.param .b32 r) sinf (.param .b32 a);");
  CHECK(error_of(text) == "t.ptx:11: error: 'call.uni': 'sinf' is not defined");
}

TEST_CASE("emulator ptx: scopes have registers and labels of their own") {
  Bench bench(module_of(".param .u64 out", R"(
    .reg .b32 x;
    mov.u32 x, 1;
    { .reg .b32 x; .reg .pred p; mov.u32 x, 2; setp.eq.u32 p, x, 2; @p bra DONE; mov.u32 x, 3; DONE: mov.u32 %r1, x; }
    { .reg .b32 x; mov.u32 x, 40; bra DONE; mov.u32 x, 3; DONE: add.u32 %r1, %r1, x; }
    add.u32 %r1, %r1, x;
    ld.param.u64 %d1, [out];
    st.global.u32 [%d1], %r1;
  )"));
  Array<u32> out(bench.memory, 1);
  Params params;
  CHECK(bench.run("k", {1, 1, 1}, {1, 1, 1}, params.add(out.address())));
  CHECK(out.values()[0] == 43);
}

TEST_CASE("emulator ptx: braces around one value are a vector of one") {
  Bench bench(module_of(".param .u64 out", R"(
    ld.param.u64 %d1, [out];
    ld.global.b32 {%r1}, [%d1];
    add.u32 %r1, %r1, 2;
    st.global.b32 [%d1], {%r1};
  )"));
  Array<u32> out(bench.memory, 1, 40);
  Params params;
  CHECK(bench.run("k", {1, 1, 1}, {1, 1, 1}, params.add(out.address())));
  CHECK(out.values()[0] == 42);
}

TEST_CASE("emulator ptx: variables have their initial values, addresses of others among them") {
  Bench bench(module_of(".param .u64 out", R"(
    ld.const.f32 %r1, [table+4];
    ld.global.u64 %d2, [pointer];
    ld.global.u16 %h1, [%d2];
    ld.global.s8 %r2, [bytes+1];
    cvt.u32.u16 %r3, %h1;
    ld.param.u64 %d1, [out];
    st.global.v4.b32 [%d1], {%r1, %r2, %r3, 7};
  )",
                        R"(
    .const .align 4 .f32 table[2] = {0f3F800000, 0f40490FDB};
    .global .align 2 .u16 words[3] = {1, 2, 515};
    .global .align 8 .u64 pointer = generic(words)+4;
    .global .align 1 .b8 bytes[2] = {1, -2};
  )"));
  Array<u32> out(bench.memory, 4);
  Params params;
  CHECK(bench.run("k", {1, 1, 1}, {1, 1, 1}, params.add(out.address())));
  CHECK(out.values() == std::vector<u32>{0x40490FDB, static_cast<u32>(-2), 515, 7});
}

TEST_CASE("emulator ptx: code for one architecture does not run on another") {
  CHECK(can_run("sm_75", "sm_80"));
  CHECK(can_run("sm_80", "sm_90a"));
  CHECK(can_run("sm_90a", "sm_90a"));
  CHECK_FALSE(can_run("sm_90", "sm_80"));
  CHECK_FALSE(can_run("sm_90a", "sm_90"));
  CHECK_FALSE(can_run("sm_90a", "sm_100"));
}

TEST_CASE("emulator ptx: a launch that cannot be is refused") {
  Bench bench(module_of(".param .u64 out", ".shared .align 4 .b8 big[1024]; mov.u64 %d1, big;"));
  const auto error = [&](std::array<u32, 3> grid, std::array<u32, 3> block, const Params& params, u64 shared) -> std::string {
    try {
      bench.run("k", grid, block, params, shared);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  Params params;
  params.add(u64{0});
  bench.launch_params.target = "sm_80";
  CHECK(error({1, 1, 1}, {2048, 1, 1}, params, 0) ==
        "test.ptx:11: error: launch of 'k': a block of (2048,1,1) threads: expected 1 to 1024");
  CHECK(error({1, 1, 1}, {32, 1, 1}, Params(), 0) == "test.ptx:11: error: launch of 'k': 0 bytes of parameters: the kernel takes 8");
  CHECK(error({1, 1, 1}, {32, 1, 1}, params, 170000) ==
        "test.ptx:11: error: launch of 'k': 171024 bytes of shared memory: sm_80 has 166912");
  bench.launch_params.target = "sm_75";
  CHECK(error({1, 1, 1}, {32, 1, 1}, params, 0) == "test.ptx:11: error: launch of 'k': code for sm_80 does not run on sm_75");
}

}  // namespace tilewright::rt::emulator
