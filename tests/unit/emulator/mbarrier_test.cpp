// mbarriers on the emulator: phases, counts, transactions, what they order, and each wrong use of them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

constexpr AsyncOrder kOrders[] = {AsyncOrder::lazy, AsyncOrder::eager, AsyncOrder::random};

bool contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  MESSAGE("'" << text << "' has no '" << part << "'");
  return false;
}

/// Shared memory with 8 mbarriers at %r30 and words at %r31; %r0 is the thread, %p1 holds in thread 0, %d30 is the result.
const std::string kStart = R"(
  .shared .align 8 .b64 bars[8];
  .shared .align 16 .b8 tile[4096];
  mov.u32 %r30, bars;
  mov.u32 %r31, tile;
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p1, %r0, 0;
  ld.param.u64 %d30, [out];
)";

struct Ran {
  std::vector<u32> out;
  std::string found;
};

Ran run(const std::string& body, u32 threads = 64, AsyncOrder async_order = AsyncOrder::lazy, Order order = Order::forward) {
  Bench bench(hopper_module_of(".param .u64 out", kStart + body));
  bench.launch_params.async_order = async_order;
  bench.launch_params.order = order;
  bench.launch_params.seed = 5;
  Array<u32> out(bench.memory, 256, 0);
  Params params;
  bench.run("k", {1, 1, 1}, {threads, 1, 1}, params.add(out.address()));
  return {out.values(), bench.found()};
}

/// What thread 0 alone finds of itself.
std::string found(const std::string& body) { return run(body, 1).found; }

/// Warp 1 writes a word and arrives, warp 0 waits and reads it.
std::string handed_over(const std::string& arrive, const std::string& wait, Order order = Order::forward) {
  const Ran ran = run(fmt::format(R"(
    @%p1 mbarrier.init.shared::cta.b64 [%r30], 32;
    bar.sync 0;
    setp.ge.u32 %p2, %r0, 32;
    @%p2 bra WRITER;
    {}
    ld.shared.u32 %r1, [%r31];
    @%p1 st.global.u32 [%d30], %r1;
    bra DONE;
    WRITER:
    setp.eq.u32 %p3, %r0, 32;
    @%p3 st.shared.u32 [%r31], 42;
    bar.warp.sync -1;
    {}
    DONE:
  )",
                                  wait, arrive),
                      64, AsyncOrder::lazy, order);
  return ran.found;
}

const std::string kWait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r30], 0;\n@!%p4 bra W;";
const std::string kArrive = "mbarrier.arrive.shared::cta.b64 _, [%r30];";

}  // namespace

TEST_CASE("emulator mbarriers: an arrival and a wait hand memory over, whoever comes first") {
  for (const Order order : {Order::forward, Order::backward}) {
    CHECK(handed_over(kArrive, kWait, order) == "");
    CHECK(handed_over("mbarrier.arrive.release.cluster.shared::cta.b64 %d1, [%r30];",
                      "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r30], 0, 1000;\n@!%p4 bra W;", order) == "");
    CHECK(handed_over(kArrive, "W: mbarrier.test_wait.parity.shared::cta.b64 %p4, [%r30], 0;\n@!%p4 bra W;", order) == "");
    CHECK(handed_over("mbarrier.arrive.shared::cta.b64 _, [%r30], 1;", kWait, order) == "");
  }
}

TEST_CASE("emulator mbarriers: without the wait, its loop or its order, what was handed over is a race") {
  for (const Order order : {Order::forward, Order::backward}) {
    CHECK(contains(handed_over(kArrive, "", order), "race"));
    // A wait may give up: it is no wait without a loop. In the other order the phase is over by then.
    if (order == Order::backward)
      CHECK(contains(handed_over(kArrive, "mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r30], 0;", order), "race"));
    CHECK(contains(handed_over("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%r30];", kWait, order), "race"));
    CHECK(contains(handed_over(kArrive, "W: mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p4, [%r30], 0;\n@!%p4 bra W;", order),
                   "race"));
  }
}

TEST_CASE("emulator mbarriers: states, pending counts and dropped arrivals") {
  const Ran ran = run(R"(
    mbarrier.init.shared.b64 [%r30], 5;
    mbarrier.arrive.shared.b64 %d1, [%r30];
    mbarrier.pending_count.b64 %r1, %d1;
    st.global.u32 [%d30], %r1;
    mbarrier.arrive.noComplete.shared.b64 %d2, [%r30], 2;
    mbarrier.pending_count.b64 %r1, %d2;
    st.global.u32 [%d30+4], %r1;
    mbarrier.test_wait.shared.b64 %p2, [%r30], %d1;
    selp.u32 %r1, 1, 0, %p2;
    st.global.u32 [%d30+8], %r1;
    mbarrier.arrive_drop.shared.b64 %d3, [%r30], 2;
    mbarrier.test_wait.shared.b64 %p2, [%r30], %d1;
    selp.u32 %r1, 1, 0, %p2;
    st.global.u32 [%d30+12], %r1;
    mbarrier.arrive.shared.b64 %d4, [%r30], 3;
    mbarrier.pending_count.b64 %r1, %d4;
    st.global.u32 [%d30+16], %r1;
    mbarrier.test_wait.parity.shared.b64 %p2, [%r30], 1;
    selp.u32 %r1, 1, 0, %p2;
    st.global.u32 [%d30+20], %r1;
    mbarrier.inval.shared.b64 [%r30];
  )",
                      1);
  CHECK(ran.found == "");
  CHECK(std::vector<u32>(ran.out.begin(), ran.out.begin() + 6) == std::vector<u32>{5, 4, 0, 1, 3, 1});
}

TEST_CASE("emulator mbarriers: a phase lacks its transactions as it lacks arrivals") {
  const Ran ran = run(R"(
    mbarrier.init.shared::cta.b64 [%r30], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 %d1, [%r30], 48;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r30], 32;
    mbarrier.test_wait.shared::cta.b64 %p2, [%r30], %d1;
    selp.u32 %r1, 1, 0, %p2;
    st.global.u32 [%d30], %r1;
    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r30], 16;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r30], 32;
    mbarrier.test_wait.shared::cta.b64 %p2, [%r30], %d1;
    selp.u32 %r1, 1, 0, %p2;
    st.global.u32 [%d30+4], %r1;
  )",
                      1);
  CHECK(ran.found == "");
  CHECK(ran.out[0] == 0);
  CHECK(ran.out[1] == 1);
}

TEST_CASE("emulator mbarriers: a generic address, and one that is not of shared memory") {
  CHECK(found("cvta.shared.u64 %d1, bars; mbarrier.init.b64 [%d1], 1; mbarrier.arrive.b64 %d2, [%d1];") == "");
  CHECK(contains(found("mbarrier.init.b64 [%d30], 1;"), "mbarriers are in shared memory, not in global memory"));
}

TEST_CASE("emulator mbarriers: each wrong use of the object is found") {
  const std::string init = "mbarrier.init.shared::cta.b64 [%r30], 2;\n";
  CHECK(found(init) == "");
  CHECK(contains(found("mbarrier.arrive.shared::cta.b64 _, [%r30];"), "byte 0 of shared memory: there is no mbarrier"));
  CHECK(contains(found(init + init), "init where the mbarrier of line 19 of the PTX is still valid"));
  CHECK(found(init + "mbarrier.inval.shared::cta.b64 [%r30];\n" + init) == "");
  CHECK(contains(found("mbarrier.inval.shared::cta.b64 [%r30];"), "there is no mbarrier"));
  CHECK(contains(found("mbarrier.init.shared::cta.b64 [%r30], 0;"), "an mbarrier for 0 arrivals: expected 1 to 1048575"));
  CHECK(contains(found("mbarrier.init.shared::cta.b64 [%r30+4], 1;"), "misaligned"));
  CHECK(contains(found(init + "mbarrier.arrive.shared::cta.b64 _, [%r30], 3;"),
                 "3 arrivals at the mbarrier at byte 0 of shared memory, of whose phase 0 2 of 2 arrivals and 0 bytes of transactions are "
                 "missing"));
  CHECK(contains(found(init + "mbarrier.arrive.noComplete.shared::cta.b64 %d1, [%r30], 2;"), "2 arrivals without completion"));
  CHECK(contains(found(init + "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r30], 1048575;\n"
                              "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r30], 1;"),
                 "1 bytes more than the 1048575 that are to come"));
  CHECK(contains(found(init + "mbarrier.arrive.shared::cta.b64 %d1, [%r30], 2;\nmbarrier.arrive.shared::cta.b64 _, [%r30], 2;\n"
                              "mbarrier.test_wait.shared::cta.b64 %p2, [%r30], %d1;"),
                 "waits for phase 0 of the mbarrier"));
  for (const char* access : {"st.shared.u32 [%r30+4], 1;", "ld.shared.v2.u32 {%r1, %r2}, [%r30];", "atom.shared.add.u32 %r1, [%r30], 1;"})
    CHECK(contains(found(init + access), "an ordinary access to byte"));
  CHECK(found(init + "mbarrier.inval.shared::cta.b64 [%r30]; st.shared.u32 [%r30], 1;") == "");
}

TEST_CASE("emulator mbarriers: a parity other than 0 and 1 is a remark, once, and its lowest bit counts") {
  Bench bench(hopper_module_of(".param .u64 out", kStart + R"(
    mbarrier.init.shared::cta.b64 [%r30], 1;
    mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r30], -1;
    mbarrier.test_wait.parity.shared::cta.b64 %p3, [%r30], 2;
    selp.u32 %r1, 1, 0, %p2;
    selp.u32 %r2, 1, 0, %p3;
    st.global.v2.u32 [%d30], {%r1, %r2};
  )"));
  const Array<u32> out(bench.memory, 2, 9);
  Params params;
  bench.launch_params.stop_at_diagnostic = true;
  CHECK(bench.run("k", {1, 1, 1}, {1, 1, 1}, params.add(out.address())));
  CHECK(bench.found() == "");
  CHECK(bench.diagnostics.empty());
  CHECK(out.values() == std::vector<u32>{1, 0});
  REQUIRE(bench.diagnostics.remarks().size() == 1);
  const std::string text = to_string(bench.diagnostics.remarks().front());
  CHECK(text.find("remark: undefined operand in 'k'") == 0);
  CHECK(contains(text, "a parity of 4294967295: expected 0 or 1, of which its lowest bit is taken (2 times)"));
}

TEST_CASE("emulator mbarriers: an end that only lanes of a warp have formally to be handed over to is a remark, once") {
  // All threads look at two objects; one lane of warp 1 hands over for its warp after `meet`, one of warp 0 waits for that and ends both.
  const auto ended = [](const std::string& meet, const std::string& hand_over) {
    Bench bench(hopper_module_of(".param .u64 out", kStart + fmt::format(R"(
      @%p1 mbarrier.init.shared::cta.b64 [%r30], 64;
      @%p1 mbarrier.init.shared::cta.b64 [%r30+8], 64;
      @%p1 st.shared.u32 [%r31], 0;
      bar.sync 0;
      mbarrier.test_wait.parity.shared::cta.b64 %p4, [%r30], 1;
      mbarrier.test_wait.parity.shared::cta.b64 %p4, [%r30+8], 1;
      {}
      setp.eq.u32 %p2, %r0, 37;
      @%p2 {}
      @!%p1 bra DONE;
      L: ld.relaxed.cta.shared.u32 %r2, [%r31];
      setp.eq.u32 %p3, %r2, 0;
      @%p3 bra L;
      fence.acq_rel.cta;
      mbarrier.inval.shared::cta.b64 [%r30];
      mbarrier.inval.shared::cta.b64 [%r30+8];
      DONE:
    )",
                                                                         meet, hand_over)));
    const Array<u32> out(bench.memory, 2, 9);
    Params params;
    const bool is_good = bench.run("k", {1, 1, 1}, {64, 1, 1}, params.add(out.address()));
    CHECK(is_good == bench.found().empty());
    std::string remarks;
    for (const Diagnostic& remark : bench.diagnostics.remarks()) remarks += to_string(remark) + "\n";
    return std::pair(bench.found(), remarks);
  };
  const std::string release = "st.release.cta.shared.u32 [%r31], 1;", relaxed = "st.relaxed.cta.shared.u32 [%r31], 1;";
  CHECK(ended("bar.warp.sync -1;", release) == std::pair(std::string(), std::string()));
  const auto [found, remarks] = ended("match.any.sync.b32 %r3, %r30, -1;", release);
  CHECK(found == "");
  CHECK(contains(remarks, "remark: race in 'k'"));
  CHECK(contains(remarks, "by the text of the PTX ISA alone"));
  CHECK(std::count(remarks.begin(), remarks.end(), '\n') == 1);
  // Nothing at all orders the warps.
  CHECK(contains(ended("bar.warp.sync -1;", relaxed).first, "is not ordered after the read by warp 1"));
}

TEST_CASE("emulator mbarriers: the object itself has to be handed over to others") {
  const auto found_by_two = [](const std::string& between) {
    return run("@%p1 mbarrier.init.shared::cta.b64 [%r30], 64;\n" + between + "\nmbarrier.arrive.shared::cta.b64 _, [%r30];").found;
  };
  CHECK(found_by_two("bar.sync 0;") == "");
  CHECK(contains(found_by_two(""), "not ordered after the write by"));
  const auto invalidated = [](const std::string& between) {
    return run("@%p1 mbarrier.init.shared::cta.b64 [%r30], 64;\nbar.sync 0;\nmbarrier.arrive.shared::cta.b64 _, [%r30];\n" + between +
                   "\n@%p1 mbarrier.inval.shared::cta.b64 [%r30];",
               64, AsyncOrder::lazy, Order::backward)
        .found;
  };
  CHECK(invalidated("bar.sync 0;") == "");
  CHECK(contains(invalidated(""), "warp 1, lane 0 (line 21 of the PTX): byte 0 of shared memory: there is no mbarrier"));
}

TEST_CASE("emulator mbarriers: whoever ends or overwrites the object has to come after all of its users, the last time too") {
  const auto ended = [](const std::string& between, const std::string& end) {
    const std::string look = "mbarrier.test_wait.parity.shared::cta.b64 %p4, [%r30], 1;\n";
    return run("@%p1 mbarrier.init.shared::cta.b64 [%r30], 64;\nbar.sync 0;\n" + look + "bar.sync 0;\nsetp.ge.u32 %p2, %r0, 32;\n@%p2 " +
                   look + between + "\n@%p1 " + end,
               64, AsyncOrder::lazy, Order::backward)
        .found;
  };
  const std::string inval = "mbarrier.inval.shared::cta.b64 [%r30];", again = "mbarrier.init.shared::cta.b64 [%r30], 64;",
                    store = "st.shared.u32 [%r30], 1;";
  CHECK(ended("bar.sync 0;", inval) == "");
  for (const std::string& end : {inval, again, store}) {
    CAPTURE(end);
    CHECK(contains(ended("", end), "the write of shared memory at byte 0 is not ordered after the read by warp 1 at line 24"));
    CHECK(ended("bar.sync 0;", end).find("not ordered") == std::string::npos);
  }
}

TEST_CASE("emulator mbarriers: a deadlock names the mbarrier, its phase and what it lacks") {
  CHECK(contains(
      run("@%p1 mbarrier.init.shared::cta.b64 [%r30], 65;\nbar.sync 0;\n" + kArrive + "\n" + kWait).found,
      "no warp can go on\n  block (0,0,0), warps 0-1: at line 22 of the PTX, waiting for the mbarrier at byte 0 of shared memory, of "
      "whose phase 0 1 of 65 arrivals and 0 bytes of transactions are missing"));
  CHECK(contains(run("@%p1 mbarrier.init.shared::cta.b64 [%r30], 64;\nbar.sync 0;\n@%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 "
                     "[%r30], 512;\n" +
                     kArrive + "\n" + kWait)
                     .found,
                 "0 of 64 arrivals and 512 bytes of transactions are missing"));
}

TEST_CASE("emulator mbarriers: transactions that never come, and phases with some that nobody waits for, are found at the end") {
  const std::string init = "mbarrier.init.shared::cta.b64 [%r30], 1;\n";
  CHECK(contains(found(init + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 16;"), "the block ends before the mbarrier at byte 0"));
  const std::string both = init +
                           "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 16;\n"
                           "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r30], 16;\n";
  CHECK(contains(found(both), "nobody waits for phase 0 of the mbarrier at byte 0"));
  CHECK(found(both + kWait) == "");
  // Arrivals alone may be there for nobody.
  CHECK(found(init + kArrive) == "");
}

TEST_CASE("emulator mbarriers: a ring of two stages between a producer and a consumer warp is right in every order") {
  // The producer writes k * 32 + lane into stage k % 2, the consumer adds up what each lane of it reads.
  const auto ring = [](const std::string& wait_full, const std::string& wait_empty, const std::string& parity) {
    return fmt::format(R"(
      @%p1 mbarrier.init.shared::cta.b64 [%r30], 32;
      @%p1 mbarrier.init.shared::cta.b64 [%r30+8], 32;
      @%p1 mbarrier.init.shared::cta.b64 [%r30+16], 32;
      @%p1 mbarrier.init.shared::cta.b64 [%r30+24], 32;
      bar.sync 0;
      setp.ge.u32 %p2, %r0, 32;
      and.b32 %r10, %r0, 31;
      mov.u32 %r1, 0;
      mov.u32 %r9, 0;
      LOOP:
      and.b32 %r2, %r1, 1;
      shl.b32 %r3, %r2, 3;
      add.u32 %r3, %r3, %r30;
      shl.b32 %r4, %r2, 7;
      shl.b32 %r5, %r10, 2;
      add.u32 %r4, %r4, %r5;
      add.u32 %r4, %r4, %r31;
      shr.u32 %r6, %r1, 1;
      and.b32 %r6, %r6, 1;
      @%p2 bra PRODUCER;
      FULL: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], %r6;
      {}
      ld.shared.u32 %r7, [%r4];
      add.u32 %r9, %r9, %r7;
      mbarrier.arrive.shared::cta.b64 _, [%r3+16];
      bra NEXT;
      PRODUCER:
      xor.b32 %r6, %r6, {};
      EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3+16], %r6;
      {}
      shl.b32 %r7, %r1, 5;
      add.u32 %r7, %r7, %r10;
      st.shared.u32 [%r4], %r7;
      mbarrier.arrive.shared::cta.b64 _, [%r3];
      NEXT:
      add.u32 %r1, %r1, 1;
      setp.lt.u32 %p4, %r1, 10;
      @%p4 bra LOOP;
      @%p2 bra DONE;
      mul.wide.u32 %d1, %r10, 4;
      add.u64 %d1, %d1, %d30;
      st.global.u32 [%d1], %r9;
      DONE:
    )",
                       wait_full, parity, wait_empty);
  };
  const std::string full = "@!%p3 bra FULL;", empty = "@!%p3 bra EMPTY;";
  for (const Order order : {Order::forward, Order::backward, Order::random}) {
    const Ran ran = run(ring(full, empty, "1"), 64, AsyncOrder::lazy, order);
    CHECK(ran.found == "");
    for (u32 lane = 0; lane < 32; ++lane) CHECK(ran.out[lane] == 32 * 45 + 10 * lane);
    CHECK(run(ring("", empty, "1"), 64, AsyncOrder::lazy, order).found != "");
    CHECK(run(ring(full, "", "1"), 64, AsyncOrder::lazy, order).found != "");
    CHECK(contains(run(ring(full, empty, "0"), 64, AsyncOrder::lazy, order).found, "deadlock"));
  }
}

TEST_CASE("emulator mbarriers: lanes that wait for lanes that an mbarrier holds up go on when these need them") {
  // Lane 0 waits for what the other lanes of its warp arrive at after the branch.
  CHECK(run(R"(
    @%p1 mbarrier.init.shared::cta.b64 [%r30], 31;
    bar.warp.sync -1;
    @!%p1 bra OTHERS;
    W: mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r30], 0;
    @!%p4 bra W;
    OTHERS:
    @!%p1 mbarrier.arrive.shared::cta.b64 _, [%r30];
  )",
            32)
            .found == "");
}

TEST_CASE("emulator mbarriers: cp.async arrives when the copies are done, in every schedule") {
  const auto copy = [](const char* arrive, int count, const std::string& wait) {
    return fmt::format(R"(
      @%p1 mbarrier.init.shared::cta.b64 [%r30], {};
      shl.b32 %r1, %r0, 4;
      cvt.u64.u32 %d1, %r1;
      add.u64 %d1, %d1, %d30;
      add.u32 %r1, %r1, %r31;
      bar.sync 0;
      cp.async.cg.shared.global [%r1], [%d1], 16;
      {}
      {}
      xor.b32 %r2, %r1, 16;
      ld.shared.v4.u32 {{%r3, %r4, %r5, %r6}}, [%r2];
    )",
                       count, arrive, wait);
  };
  for (const AsyncOrder order : kOrders) {
    CHECK(run(copy("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r30];", 64, kWait), 64, order).found == "");
    CHECK(run(copy("cp.async.mbarrier.arrive.shared::cta.b64 [%r30]; mbarrier.arrive.shared::cta.b64 _, [%r30];", 64, kWait), 64, order)
              .found == "");
    CHECK(contains(run(copy("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r30];", 64, ""), 64, order).found, "race"));
    CHECK(contains(run(copy("mbarrier.arrive.shared::cta.b64 _, [%r30];", 64, kWait), 64, order).found, "race"));
  }
  CHECK(contains(run(copy("cp.async.mbarrier.arrive.shared::cta.b64 [%r30];", 64, kWait)).found, "deadlock"));
}

TEST_CASE("emulator mbarriers: cp.async arrives for each thread, so that a count that is too small is found in every schedule") {
  // 128 threads copy 16 bytes each; each waits and reads what another one copied.
  const auto run_with = [](int count, AsyncOrder async_order, Order order) {
    return run(fmt::format(R"(
      @%p1 mbarrier.init.shared::cta.b64 [%r30], {};
      shl.b32 %r1, %r0, 4;
      and.b32 %r7, %r1, 1008;
      cvt.u64.u32 %d1, %r7;
      add.u64 %d1, %d1, %d30;
      add.u32 %r2, %r1, %r31;
      bar.sync 0;
      cp.async.cg.shared.global [%r2], [%d1], 16;
      cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r30];
      {}
      sub.u32 %r1, 2032, %r1;
      add.u32 %r1, %r1, %r31;
      ld.shared.v4.u32 {{%r3, %r4, %r5, %r6}}, [%r1];
    )",
                           count, kWait),
               128, async_order, order)
        .found;
  };
  for (const AsyncOrder async_order : kOrders)
    for (const Order order : {Order::forward, Order::backward}) {
      CHECK(run_with(128, async_order, order) == "");
      for (const int count : {96, 97, 112, 127}) {
        CAPTURE(count);
        CHECK(contains(run_with(count, async_order, order), "race"));
      }
    }
  CHECK(contains(run_with(129, AsyncOrder::lazy, Order::forward), "deadlock"));
}

TEST_CASE("emulator mbarriers: cp.async is early or late by the schedule, and a missing wait a finding either way") {
  const auto read = [](const char* wait, AsyncOrder order) {
    return run(fmt::format("st.global.u32 [%d30+16], 7;\ncp.async.ca.shared.global [%r31], [%d30+16], 4;\ncp.async.commit_group;\n{}\n"
                           "ld.shared.u32 %r1, [%r31];\nst.global.u32 [%d30], %r1;\n",
                           wait),
               1, order);
  };
  for (const AsyncOrder order : kOrders) {
    const Ran ran = read("cp.async.wait_group 0;", order);
    CHECK(ran.found == "");
    CHECK(ran.out[0] == 7);
    CHECK(contains(read("", order).found, "race"));
  }
  CHECK(read("", AsyncOrder::eager).out[0] == 7);
  CHECK(read("", AsyncOrder::lazy).out[0] == ~0u);
}

TEST_CASE("emulator mbarriers: what the ISA does not have is an error") {
  for (const char* bad : {
           "mbarrier.frob.shared::cta.b64 [%r30];",
           "mbarrier.init.shared::cta.b32 [%r30], 1;",
           "mbarrier.init.shared::cluster.b64 [%r30], 1;",
           "mbarrier.arrive.shared::cluster.b64 %d1, [%r30];",
           "mbarrier.test_wait.parity.shared::cluster.b64 %p1, [%r30], 0;",
           "mbarrier.test_wait.shared::cta.b64 %p1, [%r30], %d1, 7;",
           "mbarrier.arrive.acquire.shared::cta.b64 _, [%r30];",
           "cp.async.mbarrier.arrive.shared::cta.b32 [%r30];",
       })
    CHECK_THROWS_AS(LoadedModule::load(hopper_module_of(".param .u64 out", kStart + bad)), Error);
}

}  // namespace tilewright::rt::emulator
