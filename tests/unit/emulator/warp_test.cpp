// Warps of the emulator: divergence, collectives, barriers, and what is wrong with them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

/// A kernel of `threads` threads that stores %r1 of each; %r0 is the thread, %r31 its lane.
Bench per_thread(const std::string& body) {
  return Bench(module_of(".param .u64 p", "mov.u32 %r0, %tid.x;\nmov.u32 %r31, %laneid;\n" + body + R"(
    STORE:
    ld.param.u64 %d1, [p];
    mad.wide.u32 %d2, %r0, 4, %d1;
    st.global.u32 [%d2], %r1;)"));
}

std::vector<u32> run(Bench& bench, u32 threads = 32) {
  Array<u32> out(bench.memory, threads, 0xcccccccc);
  Params params;
  bench.run("k", {1, 1, 1}, {threads, 1, 1}, params.add(out.address()));
  return out.values();
}

std::vector<u32> run_clean(const std::string& body, u32 threads = 32) {
  Bench bench = per_thread(body);
  const auto values = run(bench, threads);
  CHECK(bench.found() == "");
  return values;
}

}  // namespace

TEST_CASE("emulator warps: loops of different lengths and nested branches meet again") {
  const auto values = run_clean(R"(
    mov.u32 %r1, 0;
    mov.u32 %r2, %r0;
    OUTER:
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra DONE;
    and.b32 %r3, %r2, 1;
    setp.eq.u32 %p2, %r3, 0;
    @%p2 bra EVEN;
    add.u32 %r1, %r1, %r2;
    setp.gt.u32 %p3, %r1, 50;
    @%p3 add.u32 %r1, %r1, 1000;
    bra NEXT;
    EVEN:
    add.u32 %r1, %r1, 1;
    NEXT:
    sub.u32 %r2, %r2, 1;
    bra OUTER;
    DONE:
    activemask.b32 %r4;
    setp.ne.u32 %p4, %r4, -1;
    @%p4 mov.u32 %r1, 0xdead;
  )");
  for (u32 t = 0; t < 32; ++t) {
    u32 sum = 0;
    for (u32 k = t; k > 0; --k) {
      if (k % 2 == 0)
        sum += 1;
      else if (sum += k; sum > 50)
        sum += 1000;
    }
    CHECK(values[t] == sum);
  }
}

TEST_CASE("emulator warps: indexed branches") {
  const auto values = run_clean(R"(
    and.b32 %r2, %r0, 3;
    targets: .branchtargets A, B, C, A;
    brx.idx %r2, targets;
    A: mov.u32 %r1, 10; bra STORE;
    B: mov.u32 %r1, 20; bra STORE;
    C: mov.u32 %r1, 30;
  )");
  const u32 expected[] = {10, 20, 30, 10};
  for (u32 t = 0; t < 32; ++t) CHECK(values[t] == expected[t % 4]);
}

TEST_CASE("emulator warps: lanes that exit leave the others running") {
  const auto values = run_clean("mov.u32 %r1, 7;\nsetp.lt.u32 %p1, %r0, 5;\n@%p1 exit;\nbar.sync 0;", 70);
  for (u32 t = 0; t < 70; ++t) CHECK(values[t] == (t < 5 ? 0xcccccccc : 7));
}

TEST_CASE("emulator warps: shuffles of all modes, clamps and segments") {
  const auto expect = [](const char* mode, u32 b, u32 c, auto from) {
    const auto values = run_clean(
        fmt::format("shfl.sync.{}.b32 %r2|%p1, %r31, {}, {}, -1;\nselp.u32 %r3, 100, 0, %p1;\nadd.u32 %r1, %r2, %r3;", mode, b, c));
    for (int lane = 0; lane < 32; ++lane) {
      const int source = from(lane);
      CAPTURE(mode);
      CAPTURE(lane);
      CHECK(values[static_cast<std::size_t>(lane)] == static_cast<u32>(source < 0 ? lane : source + 100));
    }
  };
  expect("up", 3, 0, [](int lane) { return lane >= 3 ? lane - 3 : -1; });
  expect("down", 5, 31, [](int lane) { return lane + 5 <= 31 ? lane + 5 : -1; });
  expect("bfly", 6, 31, [](int lane) { return lane ^ 6; });
  expect("idx", 9, 31, [](int) { return 9; });
  // Segments of 8 lanes.
  expect("idx", 3, 0x181f, [](int lane) { return (lane & ~7) | 3; });
  expect("down", 2, 0x181f, [](int lane) { return (lane & 7) + 2 <= 7 ? lane + 2 : -1; });
  expect("up", 2, 0x1800, [](int lane) { return (lane & 7) >= 2 ? lane - 2 : -1; });
}

TEST_CASE("emulator warps: votes, matches and reductions") {
  const auto ballot = run_clean("setp.gt.u32 %p1, %r31, 20;\nvote.sync.ballot.b32 %r1, %p1, -1;");
  const auto all = run_clean(
      "setp.lt.u32 %p1, %r31, 20;\nvote.sync.all.pred %p2, !%p1, -1;\nvote.sync.any.pred %p3, %p1, -1;\nselp.u32 %r1, 1, 0, %p2;\n@%p3 "
      "add.u32 %r1, %r1, 2;");
  const auto match = run_clean("shr.u32 %r2, %r31, 2;\nand.b32 %r2, %r2, 1;\nmatch.any.sync.b32 %r1, %r2, -1;");
  const auto sum = run_clean("redux.sync.add.u32 %r1, %r31, -1;");
  const auto low = run_clean("sub.s32 %r2, 5, %r31;\nredux.sync.min.s32 %r1, %r2, -1;");
  for (u32 lane = 0; lane < 32; ++lane) {
    CHECK(ballot[lane] == 0xffe00000);
    CHECK(all[lane] == 2);
    CHECK(match[lane] == (lane & 4 ? 0xf0f0f0f0 : 0x0f0f0f0f));
    CHECK(sum[lane] == 496);
    CHECK(low[lane] == static_cast<u32>(-26));
  }
}

TEST_CASE("emulator warps: halves that diverged come together in a collective") {
  // The lanes reach the shuffle from two branches that do not meet before it.
  const auto values = run_clean(R"(
    setp.lt.u32 %p1, %r31, 16;
    @%p1 bra LOW;
    add.u32 %r2, %r31, 500;
    bra SHUFFLE;
    LOW:
    mov.u32 %r2, %r31;
    SHUFFLE:
    shfl.sync.bfly.b32 %r1, %r2, 16, 31, -1;
  )");
  for (u32 lane = 0; lane < 32; ++lane) CHECK(values[lane] == (lane < 16 ? lane + 516 : lane - 16));
  // Each half on its own.
  const auto parts = run_clean(R"(
    setp.lt.u32 %p1, %r31, 16;
    @%p1 bra LOW;
    redux.sync.add.u32 %r1, %r31, 0xffff0000;
    bra STORE;
    LOW:
    redux.sync.add.u32 %r1, %r31, 0x0000ffff;
  )");
  for (u32 lane = 0; lane < 32; ++lane) CHECK(parts[lane] == (lane < 16 ? 120 : 376));
}

TEST_CASE("emulator warps: lanes of a member mask that never come are found") {
  Bench bench = per_thread("mov.u32 %r1, 0;\nsetp.lt.u32 %p1, %r31, 16;\n@!%p1 bra STORE;\nredux.sync.add.u32 %r1, %r31, -1;");
  run(bench);
  CHECK(contains(bench.found(),
                 "collective operation with absent lanes in 'k', block (0,0,0), warp 0, lane 0 (line 16 of the PTX): lanes 0xffff0000 of "
                 "the member mask never come"));
  Bench outside = per_thread("redux.sync.add.u32 %r1, %r31, 0x7fffffff;");
  run(outside);
  CHECK(contains(outside.found(), "the lane is not in its own member mask 0x7fffffff"));
}

TEST_CASE("emulator warps: a lane may wait for another one of its warp") {
  const auto values = run_clean(R"(
    .shared .align 4 .u32 lock;
    setp.eq.u32 %p1, %r0, 0;
    @%p1 st.volatile.shared.u32 [lock], 0;
    bar.sync 0;
    AGAIN:
    atom.acquire.cta.shared.cas.b32 %r2, [lock], 0, 1;
    setp.ne.u32 %p2, %r2, 0;
    @%p2 bra AGAIN;
    mov.u32 %r1, 1;
    atom.release.cta.shared.exch.b32 %r3, [lock], 0;
  )",
                                64);
  CHECK(values == std::vector<u32>(64, 1));
}

TEST_CASE("emulator barriers: reductions over the block") {
  const auto count = run_clean("setp.lt.u32 %p1, %r0, 50;\nbar.red.popc.u32 %r1, 0, %p1;", 96);
  const auto all = run_clean(
      "setp.lt.u32 %p1, %r0, 50;\nbar.red.and.pred %p2, 1, !%p1;\nbarrier.red.or.pred %p3, 2, %p1;\nselp.u32 %r1, 1, 0, %p2;\n@%p3 add.u32 "
      "%r1, %r1, 2;",
      96);
  for (u32 t = 0; t < 96; ++t) {
    CHECK(count[t] == 50);
    CHECK(all[t] == 2);
  }
}

TEST_CASE("emulator barriers: producers arrive, consumers wait") {
  const auto values = run_clean(R"(
    .shared .align 4 .b8 tile[128];
    mov.u32 %r4, tile;
    mad.lo.u32 %r4, %r31, 4, %r4;
    setp.ge.u32 %p1, %r0, 32;
    @%p1 bra CONSUMER;
    mul.lo.u32 %r1, %r31, 3;
    st.shared.u32 [%r4], %r1;
    bar.arrive 3, 64;
    bra STORE;
    CONSUMER:
    bar.sync 3, 64;
    ld.shared.u32 %r1, [%r4];
  )",
                                64);
  for (u32 t = 0; t < 64; ++t) CHECK(values[t] == t % 32 * 3);
}

TEST_CASE("emulator barriers: a diverged warp at an aligned barrier is found") {
  Bench bench = per_thread("mov.u32 %r1, 0;\nsetp.lt.u32 %p1, %r31, 16;\n@%p1 bra SKIP;\nbar.sync 0;\nSKIP:");
  run(bench, 64);
  CHECK(contains(bench.found(),
                 "divergent execution of an aligned operation in 'k', block (0,0,0), warp 0, lane 16 (line 16 of the PTX): lanes "
                 "0xffff0000 of 0xffffffff come to the barrier"));
}

TEST_CASE("emulator barriers: a deadlock says which warp waits for what") {
  Bench bench = per_thread("mov.u32 %r1, 0;\nsetp.lt.u32 %p1, %r0, 32;\n@%p1 bra OTHER;\nbar.sync 1;\nbra STORE;\nOTHER:\nbar.sync 2;");
  run(bench, 64);
  CHECK(contains(bench.found(), "deadlock in 'k'"));
  CHECK(contains(bench.found(),
                 "no warp can go on\n  block (0,0,0), warp 0: at line 19 of the PTX, waiting for barrier 2, where 32 of 64 threads are\n"
                 "  block (0,0,0), warp 1: at line 16 of the PTX, waiting for barrier 1"));
}

TEST_CASE("emulator barriers: a kernel without end is given up") {
  Bench bench = per_thread("mov.u32 %r1, 0;\nLOOP:\nadd.u32 %r1, %r1, 1;\nbra LOOP;");
  bench.launch_params.instruction_limit = 100000;
  run(bench);
  CHECK(contains(bench.found(), "unfinished launch in 'k', block (0,0,0), warp 0, lane 0"));
  CHECK(contains(bench.found(), "of the PTX): no end after"));
}

TEST_CASE("emulator warps: trap ends the launch") {
  Bench bench = per_thread("setp.eq.u32 %p1, %r0, 3;\n@%p1 trap;\nmov.u32 %r1, 0;");
  run(bench);
  CHECK(contains(bench.found(), "trap in 'k', block (0,0,0), warp 0, lane 3 (line 14 of the PTX): the kernel gave up"));
}

TEST_CASE("emulator warps: special registers of a three-dimensional launch") {
  Bench bench(module_of(".param .u64 p", R"(
    mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
    mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y; mov.u32 %r6, %ntid.z;
    mov.u32 %r7, %ctaid.x; mov.u32 %r8, %ctaid.y; mov.u32 %r9, %ctaid.z;
    mov.u32 %r10, %nctaid.x; mov.u32 %r11, %nctaid.y;
    mad.lo.u32 %r12, %r3, %r5, %r2;
    mad.lo.u32 %r12, %r12, %r4, %r1;
    mad.lo.u32 %r13, %r9, %r11, %r8;
    mad.lo.u32 %r13, %r13, %r10, %r7;
    mul.lo.u32 %r14, %r4, %r5;
    mul.lo.u32 %r14, %r14, %r6;
    mad.lo.u32 %r15, %r13, %r14, %r12;
    ld.param.u64 %d1, [p];
    mad.wide.u32 %d2, %r15, 4, %d1;
    st.global.u32 [%d2], %r15;)"));
  Array<u32> out(bench.memory, 2 * 3 * 4 * 5 * 3 * 2, 0);
  Params params;
  CHECK(bench.run("k", {2, 3, 4}, {5, 3, 2}, params.add(out.address())));
  const auto values = out.values();
  for (u32 i = 0; i < values.size(); ++i) REQUIRE(values[i] == i);
}

}  // namespace tilewright::rt::emulator
