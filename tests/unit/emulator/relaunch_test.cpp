// Blocks that reuse the state of earlier blocks, in the same launch and in later ones.
#include <doctest/doctest.h>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {

TEST_CASE("emulator relaunches: a block does not acquire what an earlier block released in the same memory") {
  // Block 0 writes a word and releases it through its own shared memory. Block 1 acquires through its own shared memory, which is another
  // one.
  Bench bench(hopper_module_of(".param .u64 word", R"(
    .shared .align 4 .b32 flag;
    mov.u32 %r0, %ctaid.x;
    setp.eq.u32 %p0, %r0, 0;
    ld.param.u64 %d0, [word];
    @!%p0 bra OTHER;
    st.global.u32 [%d0], 1;
    st.release.gpu.shared.u32 [flag], 1;
    bra DONE;
  OTHER:
    atom.acquire.gpu.shared.add.u32 %r1, [flag], 1;
    ld.global.u32 %r1, [%d0];
  DONE:
  )"));
  bench.launch_params.workers = 1;
  Array<u32> word(bench.memory, 1);
  CHECK(!bench.run("k", {2, 1, 1}, {1, 1, 1}, Params().add(word.address())));
  CHECK(bench.has_found(DiagnosticKind::race));
}

TEST_CASE("emulator relaunches: launches of other sizes, orders and checks find the same in the same kernel") {
  // Each thread hands a number to the one before it, through an mbarrier, and a block does so in other memory than the one before.
  Bench bench(hopper_module_of(".param .u64 out, .param .u32 room", R"(
    .shared .align 8 .b64 bar;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %ctaid.x;
    ld.param.u64 %d0, [out];
    ld.param.u32 %r3, [room];
    mov.u32 %r4, rooms;
    add.u32 %r4, %r4, %r3;
    setp.eq.u32 %p0, %r0, 0;
    @%p0 mbarrier.init.shared.b64 [bar], %r1;
    bar.sync 0;
    mad.lo.u32 %r5, %r2, 100, %r0;
    mad.lo.u32 %r6, %r0, 4, %r4;
    st.shared.u32 [%r6], %r5;
    mbarrier.arrive.shared.b64 %d1, [bar];
  W:
    mbarrier.try_wait.shared.b64 %p1, [bar], %d1;
    @!%p1 bra W;
    add.u32 %r7, %r0, 1;
    rem.u32 %r7, %r7, %r1;
    mad.lo.u32 %r6, %r7, 4, %r4;
    ld.shared.u32 %r8, [%r6];
    mad.lo.u32 %r9, %r2, %r1, %r0;
    mul.wide.u32 %d2, %r9, 4;
    add.u64 %d0, %d0, %d2;
    st.global.u32 [%d0], %r8;
  )",
                               ".extern .shared .align 16 .b8 rooms[];\n"));
  bench.launch_params.workers = 1;
  int k = 0;
  for (const u32 threads : {64u, 64u, 40u, 64u, 40u, 96u, 64u, 64u})
    for (const Order order : {Order::forward, Order::random, Order::backward}) {
      CAPTURE(k);
      const u32 room = static_cast<u32>(k % 3) * 16;
      bench.launch_params.order = order;
      bench.launch_params.seed = static_cast<u64>(k);
      bench.launch_params.check = k++ % 5 != 4;
      Array<u32> out(bench.memory, 3 * threads);
      CHECK(bench.run("k", {3, 1, 1}, {threads, 1, 1}, Params().add(out.address()).add(room), room + 4 * threads));
      CHECK(bench.found() == "");
      std::vector<u32> expected;
      for (u32 block = 0; block < 3; ++block)
        for (u32 thread = 0; thread < threads; ++thread) expected.push_back(block * 100 + (thread + 1) % threads);
      CHECK(out.values() == expected);
    }
}

}  // namespace tilewright::rt::emulator
