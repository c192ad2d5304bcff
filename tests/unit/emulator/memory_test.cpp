// Memory of the emulator: spaces, widths, vectors and generic addresses; what is out of place is found, not executed.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

/// Runs one thread with an allocation of 64 bytes in %d1, and gives its words.
std::vector<u32> run_one(Bench& bench) {
  std::vector<u32> words(16);
  for (u32 i = 0; i < 16; ++i) words[i] = 0x01020304 * (i + 1);
  Array<u32> memory(bench.memory, words);
  Params params;
  params.add(memory.address());
  bench.run("k", {1, 1, 1}, {1, 1, 1}, params);
  return memory.values();
}

Bench one(const std::string& body) { return Bench(module_of(".param .u64 p", "ld.param.u64 %d1, [p];\n" + body)); }

}  // namespace

TEST_CASE("emulator memory: loads extend with or without sign, stores cut") {
  Bench bench(module_of(".param .u64 p", R"(
    ld.param.u64 %d1, [p];
    mov.u32 %r1, 0x8000ff80;
    st.global.u32 [%d1], %r1;
    ld.global.s8 %r2, [%d1];
    ld.global.u8 %r3, [%d1+1];
    ld.global.s16 %d4, [%d1+2];
    ld.global.u16 %h1, [%d1+2];
    st.global.v2.u32 [%d1+8], {%r2, %r3};
    st.global.u64 [%d1+16], %d4;
    st.global.u8 [%d1+24], %h1;
    st.global.u16 [%d1+26], %h1;
  )"));
  const auto words = run_one(bench);
  CHECK(words[2] == static_cast<u32>(-128));
  CHECK(words[3] == 255);
  CHECK(words[4] == static_cast<u32>(-32768));
  CHECK(words[5] == ~0u);
  CHECK(words[6] == (0x80000000 | (0x01020304 * 7 & 0xff00)));
}

TEST_CASE("emulator memory: local and shared memory, directly and by generic addresses") {
  Bench bench(module_of(".param .u64 p", R"(
    .local .align 8 .b8 depot[32];
    .shared .align 4 .b8 tile[64];
    ld.param.u64 %d1, [p];
    mov.u64 %d2, depot;
    cvta.local.u64 %d3, %d2;
    mov.u32 %r1, %tid.x;
    st.local.u32 [%d2+8], %r1;
    ld.u32 %r2, [%d3+8];
    mov.u64 %d4, tile;
    cvta.shared.u64 %d5, %d4;
    mul.wide.u32 %d6, %r1, 4;
    add.u64 %d7, %d5, %d6;
    st.u32 [%d7], %r2;
    mov.u32 %r3, tile;
    shl.b32 %r4, %r1, 2;
    add.u32 %r3, %r3, %r4;
    ld.shared.u32 %r5, [%r3];
    isspacep.shared %p1, %d7;
    isspacep.global %p2, %d7;
    selp.u32 %r6, 100, 0, %p1;
    selp.u32 %r7, 1000, 0, %p2;
    add.u32 %r5, %r5, %r6;
    add.u32 %r5, %r5, %r7;
    add.u64 %d8, %d1, %d6;
    st.u32 [%d8], %r5;
  )"));
  Array<u32> memory(bench.memory, 16);
  Params params;
  CHECK(bench.run("k", {1, 1, 1}, {16, 1, 1}, params.add(memory.address())));
  for (u32 i = 0; i < 16; ++i) CHECK(memory.values()[i] == 100 + i);
}

TEST_CASE("emulator memory: accesses out of bounds are found and not done") {
  Bench past = one("mov.u32 %r1, 5;\nst.global.u32 [%d1+64], %r1;");
  run_one(past);
  CHECK(contains(past.found(),
                 "access out of bounds in 'k', block (0,0,0), warp 0, lane 0 (line 13 of the PTX): 4 bytes of global memory at address"));
  CHECK(contains(past.found(), "0 bytes past the end of an allocation of 64 bytes"));
  Bench over = one("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1+48]; ld.global.u64 %d3, [%d1+60];");
  run_one(over);
  CHECK(contains(over.found(), "8 bytes"));
  Bench null = one("mov.u64 %d2, 0; ld.global.u32 %r1, [%d2+8];");
  run_one(null);
  CHECK(contains(null.found(), "the pointer is null or a small integer"));
  Bench shared(module_of(".param .u64 p", ".shared .align 4 .b8 tile[64];\nmov.u64 %d1, tile;\nst.shared.u32 [%d1+64], 1;"));
  run_one(shared);
  CHECK(contains(shared.found(), "4 bytes at byte 64 of shared memory, which has 64 bytes"));
}

TEST_CASE("emulator memory: what lies past the end of an allocation is no other one") {
  Memory memory;
  std::vector<u64> all;
  for (int k = 0; k < 100; ++k) all.push_back(memory.allocate(64));
  for (const u64 address : all) {
    CHECK(memory.find(address + 63).begin == address);
    for (const u64 past : {64, 1024, 4096, 30'000}) CHECK(memory.find(address + past).begin == 0);
  }
  for (const u64 address : all) memory.free(address);
}

TEST_CASE("emulator memory: misaligned accesses and wrong spaces are found") {
  Bench misaligned = one("ld.global.v2.u32 {%r1, %r2}, [%d1+4];");
  run_one(misaligned);
  CHECK(contains(misaligned.found(),
                 "misaligned access in 'k', block (0,0,0), warp 0, lane 0 (line 12 of the PTX): 8 bytes of global memory"));
  Bench space(module_of(".param .u64 p",
                        ".shared .align 4 .b8 tile[64];\nmov.u64 %d1, tile;\ncvta.shared.u64 %d2, %d1;\nld.shared.u32 %r1, [%d2];"));
  run_one(space);
  CHECK(contains(space.found(), "is a generic address, not one of shared memory"));
  Bench global(module_of(".param .u64 p",
                         ".shared .align 4 .b8 tile[64];\nmov.u64 %d1, tile;\ncvta.shared.u64 %d2, %d1;\nld.global.u32 %r1, [%d2];"));
  run_one(global);
  CHECK(global.has_found(DiagnosticKind::wrong_space));
}

TEST_CASE("emulator memory: reads of what nobody wrote are found") {
  Bench shared(
      module_of(".param .u64 p", ".shared .align 4 .b8 tile[64];\nmov.u64 %d1, tile;\nst.shared.u16 [%d1], 1;\nld.shared.u32 %r1, [%d1];"));
  run_one(shared);
  CHECK(contains(shared.found(),
                 "read of memory nobody wrote in 'k', block (0,0,0), warp 0, lane 0 (line 14 of the PTX): byte 2 of shared memory"));

  auto program =
      LoadedModule::load(module_of(".param .u64 p", "ld.param.u64 %d1, [p];\nld.global.u32 %r1, [%d1];\nld.global.u32 %r1, [%d1+4];"));
  Memory memory(true);
  const u64 address = memory.allocate(8);
  const u32 word = 1;
  memory.write(address, &word, 4);
  Diagnostics diagnostics;
  Params params;
  params.add(address);
  LaunchParams launch_params;
  launch_params.params = params.bytes();
  launch_params.diagnostics = &diagnostics;
  CHECK_FALSE(launch(*program, "k", memory, launch_params));
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(contains(to_string(diagnostics.list()[0]), "(line 13 of the PTX): byte 4 of an allocation of 8 bytes"));
}

TEST_CASE("emulator memory: cache and eviction hints change nothing") {
  Bench bench = one(R"(
    createpolicy.fractional.L2::evict_first.b64 %d2, 1.0;
    ld.global.nc.L1::no_allocate.L2::128B.u32 %r1, [%d1];
    ld.global.L2::cache_hint.u32 %r2, [%d1+4], %d2;
    prefetch.global.L2 [%d1];
    st.global.cs.u32 [%d1+8], %r1;
    st.global.L2::cache_hint.u32 [%d1+12], %r2, %d2;
  )");
  const auto words = run_one(bench);
  CHECK(bench.found() == "");
  CHECK(words[2] == words[0]);
  CHECK(words[3] == words[1]);
}

TEST_CASE("emulator memory: atomics of all operations return what was there") {
  struct Case {
    const char* op;
    u32 before, operand, after;
  };
  const Case cases[] = {{"add.u32", 7, 5, 12},
                        {"min.s32", 7, ~0u, ~0u},
                        {"min.u32", 7, ~0u, 7},
                        {"max.s32", 7, ~0u, 7},
                        {"max.u32", 7, ~0u, ~0u},
                        {"and.b32", 12, 10, 8},
                        {"or.b32", 12, 10, 14},
                        {"xor.b32", 12, 10, 6},
                        {"exch.b32", 12, 10, 10},
                        {"inc.u32", 12, 12, 0},
                        {"inc.u32", 11, 12, 12},
                        {"dec.u32", 0, 12, 12},
                        {"dec.u32", 13, 12, 12},
                        {"dec.u32", 5, 12, 4},
                        {"add.f32", 0x3f800000, 0x40000000, 0x40400000},
                        {"add.noftz.f16x2", 0x3c003c00, 0x40003c00, 0x42004000},
                        {"add.noftz.bf16x2", 0x3f803f80, 0x40003f80, 0x40404000}};
  for (const char* space : {"global", "shared"})
    for (const Case& c : cases) {
      CAPTURE(c.op);
      CAPTURE(space);
      const bool is_shared = std::string(space) == "shared";
      Bench bench(
          module_of(".param .u64 p",
                    fmt::format(R"(
        .shared .align 4 .b8 tile[4];
        ld.param.u64 %d1, [p];
        mov.u64 %d2, {};
        st.{}.u32 [%d2], {};
        atom.{}.{} %r1, [%d2], {};
        ld.{}.u32 %r2, [%d2];
        st.global.v2.u32 [%d1], {{%r1, %r2}};
      )",
                                is_shared ? "tile" : "%d1", space, c.before, space, c.op,
                                std::string(c.op) == "add.f32" ? fmt::format("0f{:08x}", c.operand) : std::to_string(c.operand), space)));
      Array<u32> memory(bench.memory, 2);
      Params params;
      REQUIRE(bench.run("k", {1, 1, 1}, {1, 1, 1}, params.add(memory.address())));
      CHECK(memory.values() == std::vector<u32>{c.before, c.after});
    }
}

TEST_CASE("emulator memory: atomics of many blocks on several threads lose nothing") {
  Bench bench(module_of(".param .u64 p", R"(
    ld.param.u64 %d1, [p];
    red.relaxed.gpu.global.add.u32 [%d1], 1;
    atom.global.add.u64 %d2, [%d1+8], 3;
    LOOP:
    ld.relaxed.gpu.global.u32 %r1, [%d1+16];
    add.u32 %r2, %r1, 1;
    atom.global.cas.b32 %r3, [%d1+16], %r1, %r2;
    setp.ne.u32 %p1, %r1, %r3;
    @%p1 bra LOOP;
  )"));
  bench.launch_params.workers = 4;
  Array<u64> memory(bench.memory, 3);
  Params params;
  CHECK(bench.run("k", {200, 1, 1}, {64, 1, 1}, params.add(memory.address())));
  CHECK(memory.values() == std::vector<u64>{12800, 38400, 12800});
  CHECK(bench.found() == "");
}

TEST_CASE("emulator memory: functions may have variables of one name, which are their own") {
  const auto kernel = [](const std::string& name, const std::string& spaces) {
    return ".visible .entry " + name + "(.param .u64 p)\n{\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n" + spaces + R"(
      .global .align 8 .u64 where = {generic(table)+4};
      ld.param.u64 %d1, [p];
      ld.global.u64 %d2, [where];
      ld.u32 %r1, [%d2];
      ld.global.u32 %r2, [table];
      st.global.v2.u32 [%d1], {%r2, %r1};
      ret;
    })";
  };
  const std::string globals = ".global .align 4 .u32 table[2] = {5, 6};\n" + kernel("first", ".global .align 4 .u32 table[2] = {1, 2};") +
                              kernel("second", ".global .align 4 .u32 table[2] = {3, 4};") + kernel("third", "");
  Bench bench(module_of(".param .u64 p", "", globals));
  u32 expected = 1;
  for (const char* name : {"first", "second", "third"}) {
    Array<u32> memory(bench.memory, 2);
    Params params;
    CHECK(bench.run(name, {1, 1, 1}, {1, 1, 1}, params.add(memory.address())));
    CHECK(memory.values() == std::vector<u32>{expected, expected + 1});
    CHECK(bench.found() == "");
    expected += 2;
  }
}

TEST_CASE("emulator memory: sums of f32 in global memory lose subnormal numbers, in shared memory they do not") {
  for (const bool is_shared : {false, true}) {
    Bench bench(module_of(".param .u64 p", fmt::format(R"(
      .shared .align 4 .b8 tile[4];
      ld.param.u64 %d1, [p];
      mov.u64 %d2, {0};
      st.{1}.u32 [%d2], 5;
      red.{1}.add.f32 [%d2], 0f00000007;
      ld.{1}.u32 %r2, [%d2];
      st.global.u32 [%d1], %r2;
    )",
                                                       is_shared ? "tile" : "%d1", is_shared ? "shared" : "global")));
    Array<u32> memory(bench.memory, 1);
    Params params;
    REQUIRE(bench.run("k", {1, 1, 1}, {1, 1, 1}, params.add(memory.address())));
    CHECK(memory.values()[0] == (is_shared ? 12 : 0));
  }
}

TEST_CASE("emulator memory: counters of sectors and wavefronts") {
  Bench bench(module_of(".param .u64 p, .param .u32 stride", R"(
    .shared .align 4 .b8 tile[8192];
    ld.param.u64 %d1, [p];
    ld.param.u32 %r2, [stride];
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r3, %r1, %r2;
    mul.wide.u32 %d2, %r3, 4;
    add.u64 %d3, %d1, %d2;
    ld.global.u32 %r4, [%d3];
    mov.u64 %d4, tile;
    add.u64 %d5, %d4, %d2;
    st.shared.u32 [%d5], %r4;
  )"));
  const auto counts = [&](u32 stride) {
    bench.counters = {};
    Array<u32> memory(bench.memory, 32 * 32);
    Params params;
    CHECK(bench.run("k", {1, 1, 1}, {32, 1, 1}, params.add(memory.address()).add(stride)));
    const KernelCounters& counters = bench.counters.kernels.at("k");
    return std::array<u64, 3>{counters.of(Category::load_global).units, counters.of(Category::load_global).ideal,
                              counters.of(Category::store_shared).units};
  };
  CHECK(counts(1) == std::array<u64, 3>{4, 4, 1});
  CHECK(counts(2) == std::array<u64, 3>{8, 4, 2});
  CHECK(counts(8) == std::array<u64, 3>{32, 4, 8});
  CHECK(counts(32) == std::array<u64, 3>{32, 4, 32});
  CHECK(counts(17) == std::array<u64, 3>{32, 4, 1});
  CHECK(counts(0) == std::array<u64, 3>{1, 1, 1});
}

}  // namespace tilewright::rt::emulator
