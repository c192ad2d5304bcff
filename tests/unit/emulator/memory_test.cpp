// Memory: allocations, several kernels of a module, and counters of strides. tests/ptx/emulator/memory.ptx has the rest.
#include <doctest/doctest.h>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {

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

TEST_CASE("emulator memory: a read of an allocation that was never written is found") {
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
    const KernelCounters& counters = bench.counters.of("k");
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
