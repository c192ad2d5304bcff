// What releases tell of to whom: a lane of itself, a block's atomics to its own block, and acquires what was released.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
TEST_CASE("emulator releases: a lane tells others of itself, and of its warp what a barrier of the warp came after") {
  // Warp 0 does something with 32 words and tells warp 1 of it, which then does something else.
  const auto found = [](const std::string& first, const std::string& tell, const std::string& wait, const std::string& second) {
    std::string text;
    for (const Order order : {Order::forward, Order::backward}) {
      Bench bench(hopper_module_of("", fmt::format(R"(
        .shared .align 8 .b64 one, all;
        .shared .align 4 .b32 flag;
        .shared .align 128 .b32 words[32];
        mov.u32 %r0, %laneid;
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, words;
        mad.lo.u32 %r2, %r0, 4, %r2;
        xor.b32 %r3, %r2, 4;
        setp.eq.u32 %p0, %r0, 0;
        setp.ge.u32 %p1, %r1, 32;
        @%p1 st.shared.u32 [%r2], 0;
        setp.eq.u32 %p2, %r1, 0;
        @%p2 mbarrier.init.shared.b64 [one], 1;
        @%p2 mbarrier.init.shared.b64 [all], 32;
        @%p2 st.shared.u32 [flag], 0;
        bar.sync 0;
        @%p1 bra OTHER;
        {}
        {}
        bra DONE;
      OTHER:
        {}
        {}
      DONE:
      )",
                                                   first, tell, wait, second)));
      bench.launch_params.order = order;
      bench.run("k", {1, 1, 1}, {64, 1, 1}, Params());
      text += bench.found();
    }
    return text;
  };
  const std::string write = "st.shared.u32 [%r2], 1;", read = "ld.shared.u32 %r4, [%r2];", read_first = "ld.shared.u32 %r4, [words];";
  const std::string together = "bar.warp.sync -1;\n", arrive = "@%p0 mbarrier.arrive.shared.b64 _, [one];",
                    add = "@%p0 red.release.cta.shared.add.u32 [flag], 1;", arrive_all = "mbarrier.arrive.shared.b64 _, [all];";
  const std::string wait_one = "W: mbarrier.try_wait.parity.shared.b64 %p3, [one], 0;\n@!%p3 bra W;",
                    wait_all = "W: mbarrier.try_wait.parity.shared.b64 %p3, [all], 0;\n@!%p3 bra W;",
                    wait_flag = "W: ld.acquire.cta.shared.u32 %r5, [flag];\nsetp.eq.u32 %p3, %r5, 0;\n@%p3 bra W;";
  for (const auto& [tell, wait] : {std::pair{arrive, wait_one}, {add, wait_flag}}) {
    CHECK(found(write, together + tell, wait, read) == "");
    CHECK(contains(found(write, tell, wait, read), "is not ordered after the write by warp 0"));
    CHECK(contains(found(read, tell, wait, write), "is not ordered after the read by warp 0"));
    CHECK(contains(found(read_first, tell, wait, "@%p0 st.shared.u32 [words], 1;"), "is not ordered after the read by warp 0"));
    // Of lane 0 itself.
    CHECK(found("@%p0 " + write, tell, wait, "@%p0 " + read) == "");
  }
  CHECK(found(write, arrive_all, wait_all, read) == "");
  CHECK(found(read, arrive_all, wait_all, write) == "");
  // An arrival brings the lanes of the warp no nearer to each other, a wait for all of them does.
  CHECK(contains(found(write, arrive_all + "\nld.shared.u32 %r4, [%r3];", "", ""), "write by lane 1 of the same warp"));
  CHECK(found(write, arrive_all + wait_all + "\nld.shared.u32 %r4, [%r3];", "", "") == "");
}

TEST_CASE("emulator releases: release and acquire order global memory between blocks, relaxed accesses and narrow scopes do not") {
  const auto found = [](const std::string& publish, const std::string& observe) {
    Bench bench(module_of(".param .u64 p", fmt::format(R"(
      ld.param.u64 %d1, [p];
      mov.u32 %r0, %ctaid.x;
      setp.ne.u32 %p1, %r0, 0;
      @%p1 bra READER;
      st.global.u32 [%d1], 42;
      {}
      bra DONE;
      READER:
      {}
      setp.eq.u32 %p2, %r1, 0;
      @%p2 bra READER;
      ld.global.u32 %r2, [%d1];
      st.global.u32 [%d1+8], %r2;
      DONE:
    )",
                                                       publish, observe)));
    Array<u32> memory(bench.memory, 3, 0);
    Params params;
    bench.run("k", {2, 1, 1}, {1, 1, 1}, params.add(memory.address()));
    CHECK(memory.values()[2] == 42);
    return bench.found();
  };
  CHECK(found("st.release.gpu.global.u32 [%d1+4], 1;", "ld.acquire.gpu.global.u32 %r1, [%d1+4];") == "");
  CHECK(found("membar.gl; st.volatile.global.u32 [%d1+4], 1;", "ld.volatile.global.u32 %r1, [%d1+4]; fence.acq_rel.gpu;") == "");
  CHECK(found("red.release.gpu.global.add.u32 [%d1+4], 1;", "atom.acq_rel.gpu.global.or.b32 %r1, [%d1+4], 0;") == "");
  CHECK(found("st.relaxed.gpu.global.u32 [%d1+4], 1;", "ld.acquire.gpu.global.u32 %r1, [%d1+4];") != "");
  CHECK(found("st.release.gpu.global.u32 [%d1+4], 1;", "ld.relaxed.gpu.global.u32 %r1, [%d1+4];") != "");
  CHECK(found("st.release.cta.global.u32 [%d1+4], 1;", "ld.acquire.gpu.global.u32 %r1, [%d1+4];") != "");
  CHECK(found("st.volatile.global.u32 [%d1+4], 1; membar.gl;", "ld.volatile.global.u32 %r1, [%d1+4]; membar.gl;") != "");
}

TEST_CASE("emulator releases: what is atomic to its block alone is not so to another one") {
  const auto found = [](const std::string& first, const std::string& second, bool same_block) {
    Bench bench(module_of(".param .u64 p", fmt::format(R"(
      ld.param.u64 %d1, [p];
      mov.u32 %r0, {};
      setp.ne.u32 %p1, %r0, 0;
      @%p1 bra SECOND;
      {}
      bra DONE;
      SECOND:
      {}
      DONE:
    )",
                                                       same_block ? "%tid.x" : "%ctaid.x", first, second)));
    Array<u32> memory(bench.memory, 1, 0);
    Params params;
    const std::array<u32, 3> one{1, 1, 1}, two{2, 1, 1};
    bench.run("k", same_block ? one : two, same_block ? two : one, params.add(memory.address()));
    return bench.found();
  };
  const std::string wide = "red.relaxed.gpu.global.add.u32 [%d1], 1;", by_default = "atom.global.add.u32 %r1, [%d1], 1;",
                    narrow = "red.relaxed.cta.global.add.u32 [%d1], 1;", load = "ld.relaxed.gpu.global.u32 %r1, [%d1];",
                    narrow_load = "ld.relaxed.cta.global.u32 %r1, [%d1];", seen = "ld.volatile.global.u32 %r1, [%d1];";
  for (const std::string& other : {wide, by_default, load, seen}) CHECK(found(wide, other, false) == "");
  for (const std::string& other : {wide, by_default, load, seen})
    CHECK(contains(found(narrow, other, false),
                   "of another block at line 16 of the PTX, because one of them is atomic to its own block alone"));
  CHECK(contains(found(wide, narrow, false), "because one of them is atomic to its own block alone"));
  CHECK(contains(found(wide, narrow_load, false), "because one of them is atomic to its own block alone"));
  CHECK(found(narrow_load, narrow_load, false) == "");
  for (const std::string& other : {wide, narrow, narrow_load}) CHECK(found(narrow, other, true) == "");
}

}  // namespace tilewright::rt::emulator
