// Bulk copies on the emulator: values in every schedule, and each missing wait, fence or byte a diagnostic.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

constexpr AsyncOrder kOrders[] = {AsyncOrder::lazy, AsyncOrder::eager, AsyncOrder::random};

bool contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  MESSAGE("'" << text << "' has no '" << part << "'");
  return false;
}

struct Ran {
  std::vector<u32> out;
  std::string found;
  Count copies;  // of bulk copies
};

/// 1024 words that count up at %d29 and as many that are 1 at %d30; a tile of shared memory at %r31, mbarriers at %r30 and %r30 + 8, the
/// first for one arrival; %r0 is the thread and %p1 holds in thread 0.
Ran run(const std::string& body, AsyncOrder order = AsyncOrder::lazy, u32 threads = 64) {
  Bench bench(hopper_module_of(".param .u64 in, .param .u64 out", R"(
    .shared .align 16 .b64 bars[2];
    .shared .align 128 .b8 tile[8192];
    mov.u32 %r30, bars;
    mov.u32 %r31, tile;
    mov.u32 %r0, %tid.x;
    setp.eq.u32 %p1, %r0, 0;
    ld.param.u64 %d29, [in];
    ld.param.u64 %d30, [out];
    mul.wide.u32 %d28, %r0, 4;
    add.u64 %d28, %d28, %d30;
    mad.lo.u32 %r29, %r0, 4, %r31;
    @%p1 mbarrier.init.shared::cta.b64 [%r30], 1;
    bar.sync 0;
  )" + body));
  bench.launch_params.async_order = order;
  bench.launch_params.seed = 11;
  std::vector<u32> values(1024);
  for (u32 i = 0; i < 1024; ++i) values[i] = i;
  Array<u32> in(bench.memory, values), out(bench.memory, 1024, 1);
  Params params;
  bench.run("k", {1, 1, 1}, {threads, 1, 1}, params.add(in.address()).add(out.address()));
  return {out.values(), bench.found(), bench.counters.kernels.at("k").of(Category::bulk_copy)};
}

const std::string kExpect = "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 256;\n";
const std::string kLoad = "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r31], [%d29+64], 256, [%r30];\n";
const std::string kWait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r30], 0;\n@!%p2 bra W;\n";
const std::string kOut = "ld.shared.u32 %r1, [%r29];\nst.global.u32 [%d28], %r1;\n";

const std::string kFill = "add.u32 %r1, %r0, 5;\nst.shared.u32 [%r29], %r1;\n";
const std::string kFence = "fence.proxy.async.shared::cta;\n";
const std::string kStore = "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%d30], [%r31], 256;\n";
const std::string kCommit = "cp.async.bulk.commit_group;\n";

}  // namespace

TEST_CASE("emulator bulk copies: a load is there when its mbarrier says so, in every schedule") {
  for (const AsyncOrder order : kOrders) {
    const Ran ran = run(kExpect + kLoad + kWait + kOut, order);
    CHECK(ran.found == "");
    for (u32 i = 0; i < 64; ++i) CHECK(ran.out[i] == i + 16);
    // Those who poll get there too.
    const Ran polled = run(kExpect + kLoad + "W: mbarrier.test_wait.parity.shared::cta.b64 %p2, [%r30], 0;\n@!%p2 bra W;\n" + kOut, order);
    CHECK(polled.found == "");
    CHECK(polled.out == ran.out);
  }
}

TEST_CASE("emulator bulk copies: a load that nobody waits for, or not for all of it, is found in every schedule") {
  for (const AsyncOrder order : kOrders) {
    CHECK(contains(run(kExpect + kLoad + kOut, order).found,
                   "is not ordered after the write by a bulk copy that an mbarrier waits for at line 26 of the PTX"));
    CHECK(contains(run(kExpect + kLoad, order).found, "nobody waits for phase 0 of the mbarrier at byte 0"));
    const std::string less = "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 128;\n";
    CHECK(run(less + kLoad + kWait + kOut, order).found != "");
    const std::string more = "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 272;\n";
    CHECK(contains(run(more + kLoad + kWait + kOut, order).found, "0 of 1 arrivals and 16 bytes of transactions are missing"));
    const std::string none = "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r30];\n";
    CHECK(run(none + kLoad + kWait + kOut, order).found != "");
  }
}

TEST_CASE("emulator bulk copies: who overwrites what a load writes must wait, and who reads it before the load too") {
  for (const AsyncOrder order : kOrders) {
    CHECK(contains(run(kExpect + kLoad + kFill + kWait, order).found, "the write of shared memory at byte"));
    CHECK(run(kExpect + kLoad + kWait + "bar.sync 0;\n" + kFill, order).found == "");
    // After generic writes, a load needs a proxy fence; after reads, a barrier.
    CHECK(contains(run(kFill + "bar.sync 0;\n" + kExpect + kLoad + kWait, order).found, "because no proxy fence comes between them"));
    CHECK(run(kFill + kFence + "bar.sync 0;\n" + kExpect + kLoad + kWait, order).found == "");
    const std::string again = "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 256;\n" + kLoad +
                              "V: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r30], 1;\n@!%p2 bra V;\n";
    CHECK(run(kExpect + kLoad + kWait + kOut + "bar.sync 0;\n" + again, order).found == "");
    CHECK(run(kExpect + kLoad + kWait + kOut + again, order).found != "");
  }
}

TEST_CASE("emulator bulk copies: a store needs the fence, the barrier, the commit and the wait") {
  const std::string wait = "cp.async.bulk.wait_group 0;\n";
  for (const AsyncOrder order : kOrders) {
    const Ran ran = run(kFill + kFence + "bar.sync 0;\n" + kStore + kCommit + wait, order);
    CHECK(ran.found == "");
    for (u32 i = 0; i < 64; ++i) CHECK(ran.out[i] == i + 5);
    CHECK(contains(run(kFill + "bar.sync 0;\n" + kStore + kCommit + wait, order).found,
                   "the read of shared memory at byte 128 is not ordered after the write by lane 0 of the same warp at line 26 of the PTX, "
                   "because no proxy "
                   "fence comes between them"));
    CHECK(contains(run(kFill + "fence.proxy.async.global;\nbar.sync 0;\n" + kStore + kCommit + wait, order).found, "no proxy fence"));
    CHECK(run(kFill + "fence.proxy.async;\nbar.sync 0;\n" + kStore + kCommit + wait, order).found == "");
    // On the other side of the barrier it is as good.
    CHECK(run(kFill + "bar.sync 0;\n" + kFence + kStore + kCommit + wait, order).found == "");
    CHECK(
        contains(run(kFill + kFence + kStore + kCommit + wait, order).found, "is not ordered after the write by lane 1 of the same warp"));
    CHECK(contains(run(kFill + kFence + "bar.sync 0;\n" + kStore + kCommit, order).found,
                   "the block ends while this copy may still read its shared memory: nobody waits for its group"));
    CHECK(contains(run(kFill + kFence + "bar.sync 0;\n" + kStore + wait, order).found, "it is in no group"));
    CHECK(contains(run(kFill + kFence + "bar.sync 0;\n" + kStore + kCommit + "cp.async.bulk.wait_group 1;\n", order).found,
                   "nobody waits for its group"));
  }
}

TEST_CASE("emulator bulk copies: each form of the proxy fence orders what it names") {
  const auto found = [](const std::string& before, const std::string& after) {
    return run(kFill + before + "bar.sync 0;\n" + after + kStore + kCommit + "cp.async.bulk.wait_group 0;\n").found;
  };
  for (const std::string fence : {"fence.proxy.async;\n", "fence.proxy.async.shared::cta;\n", "fence.proxy.async.shared::cluster;\n",
                                  "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\n"})
    CHECK(found(fence, "") == "");
  CHECK(found("", "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;\n") == "");
  for (const std::string fence :
       {"fence.proxy.alias;\n", "fence.proxy.async.global;\n", "fence.acq_rel.cta;\n", "fence.mbarrier_init.release.cluster;\n",
        "fence.release.sync_restrict::shared::cta.cluster;\n", "fence.acquire.sync_restrict::shared::cluster.cluster;\n",
        "fence.proxy.tensormap::generic.release.gpu;\n"})
    CHECK(contains(found(fence, ""), "because no proxy fence comes between them"));
  // One that comes too early.
  CHECK(contains(run("fence.proxy.async;\n" + kFill + "bar.sync 0;\n" + kStore + kCommit + "cp.async.bulk.wait_group 0;\n").found,
                 "because no proxy fence comes between them"));
}

TEST_CASE("emulator bulk copies: shared memory is free once it has been read, global memory is good once it has been written") {
  const std::string begin = kFill + kFence + "bar.sync 0;\n" + kStore + kCommit;
  const std::string read = "cp.async.bulk.wait_group.read 0;\n", all = "cp.async.bulk.wait_group 0;\n";
  const std::string load = "ld.global.u32 %r2, [%d28];\n";
  for (const AsyncOrder order : kOrders) {
    const Ran ran = run(begin + read + "bar.sync 0;\nst.shared.u32 [%r29], 0;\n", order);
    CHECK(ran.found == "");
    for (u32 i = 0; i < 64; ++i) CHECK(ran.out[i] == i + 5);
    CHECK(contains(run(begin + "bar.sync 0;\nst.shared.u32 [%r29], 0;\n" + all, order).found,
                   "is not ordered after the read by a bulk copy of warp 0"));
    CHECK(run(begin + all + "bar.sync 0;\n" + load, order).found == "");
    CHECK(contains(run(begin + read + "bar.sync 0;\n" + load, order).found,
                   "of an allocation of 4096 bytes is not ordered after the write by a bulk copy of warp 0 at line 29 of the PTX"));
  }
}

TEST_CASE("emulator bulk copies: what a kernel itself wrote to global memory needs a fence before a bulk copy reads it") {
  const auto found = [](const std::string& fence) {
    return run("add.u64 %d1, %d28, 64;\nsub.u64 %d1, %d1, %d30;\nadd.u64 %d1, %d1, %d29;\nst.global.u32 [%d1], %r0;\n" + fence +
               "bar.sync 0;\n" + kExpect + kLoad + kWait)
        .found;
  };
  CHECK(contains(found(""), "the read of global memory at byte 64 of an allocation of 4096 bytes is not ordered after the write"));
  CHECK(contains(found(kFence), "no proxy fence"));
  CHECK(found("fence.proxy.async.global;\n") == "");
  CHECK(found("fence.proxy.async;\n") == "");
}

TEST_CASE("emulator bulk copies: what a load reads must not be written before it is done") {
  const std::string at = "mul.wide.u32 %d27, %r0, 4;\nadd.u64 %d27, %d27, %d29;\n", write = "st.global.u32 [%d27+64], %r0;\n";
  const std::string race = "is not ordered after the read by a bulk copy that an mbarrier waits for at line";
  for (const AsyncOrder order : kOrders) {
    CHECK(run(at + kExpect + kLoad + kWait + write, order).found == "");
    CHECK(contains(run(at + kExpect + kLoad + write + kWait, order).found, race));
    CHECK(contains(run(at + kExpect + kLoad + "red.global.add.u32 [%d27+64], %r0;\n" + kWait, order).found, race));
    // A single lane of the other warp, the last word.
    CHECK(contains(run(at + kExpect + kLoad + "setp.eq.u32 %p2, %r0, 63;\n@%p2 " + write + kWait, order).found, "race"));
    // Whatever else has read or written the allocation.
    CHECK(contains(run(at + kExpect + kLoad + "ld.global.u32 %r1, [%d27+64];\n" + write + kWait, order).found, race));
    CHECK(contains(run(at + "st.global.u32 [%d27+1024], %r0;\n" + kExpect + kLoad + write + kWait, order).found, race));
    CHECK(run(at + kExpect + kLoad + "ld.global.u32 %r1, [%d27+64];\nst.global.u32 [%d27+1024], %r1;\n" + kWait, order).found == "");
  }
}

TEST_CASE("emulator bulk copies: reductions, which are atomic to each other") {
  for (const AsyncOrder order : kOrders) {
    const std::string wait = kCommit + "cp.async.bulk.wait_group 0;\n";
    const std::string add = "@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d30], [%r31], 256;\n";
    const Ran ran = run(kFill + kFence + "bar.sync 0;\n" + add + add + wait, order);
    CHECK(ran.found == "");
    for (u32 i = 0; i < 64; ++i) CHECK(ran.out[i] == 1 + 2 * (i + 5));
    // Two stores are no reductions.
    CHECK(contains(run(kFill + kFence + "bar.sync 0;\n" + kStore + kStore + wait, order).found, "the write of global memory"));
    const Ran smallest = run(
        kFill + kFence + "bar.sync 0;\n" + "@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%d30], [%r31], 16;\n" + wait,
        order);
    CHECK(smallest.found == "");
    CHECK(smallest.out[3] == 8);
    CHECK(smallest.out[4] == 1);
  }
}

TEST_CASE("emulator bulk copies: between places of shared memory") {
  const std::string move =
      "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r31+1024], [%r31], 256, [%r30];\n";
  for (const AsyncOrder order : kOrders) {
    const Ran ran = run(
        kFill + kFence + "bar.sync 0;\n" + kExpect + move + kWait + "ld.shared.u32 %r1, [%r29+1024];\nst.global.u32 [%d28], %r1;\n", order);
    CHECK(ran.found == "");
    for (u32 i = 0; i < 64; ++i) CHECK(ran.out[i] == i + 5);
    CHECK(contains(run(kFill + "bar.sync 0;\n" + kExpect + move + kWait, order).found, "no proxy fence"));
    CHECK(
        contains(run(kFill + kFence + "bar.sync 0;\n" + kExpect + move + kFill + kWait, order).found, "is not ordered after the read by"));
  }
}

TEST_CASE("emulator bulk copies: counters of what they move") {
  const Count copies =
      run(kExpect + kLoad + kWait + "bar.sync 0;\n" + kFill + kFence + "bar.sync 0;\n" + kStore + kCommit + "cp.async.bulk.wait_group 0;\n")
          .copies;
  CHECK(copies.requests == 2);
  CHECK(copies.bytes == 512);
  CHECK(copies.units == 16);
  CHECK(copies.ideal == 16);
}

TEST_CASE("emulator bulk copies: sizes, alignments and bounds") {
  const auto found = [](const std::string& line) { return run("@%p1 " + line).found; };
  const std::string load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
  CHECK(contains(found(load + "[%r31], [%d29], 24, [%r30];"), "24 bytes: expected a multiple of 16"));
  CHECK(contains(found(load + "[%r31+8], [%d29], 16, [%r30];"), "misaligned access"));
  CHECK(contains(found(load + "[%r31], [%d29+8], 16, [%r30];"), "misaligned access"));
  CHECK(contains(found(load + "[%r31], [%d29+4080], 32, [%r30];"), "over the end of an allocation of 4096 bytes"));
  CHECK(contains(found(load + "[%r31+8176], [%d29], 32, [%r30];"), "access out of bounds"));
  CHECK(contains(found(load + "[%r31], [%d29], 16, [%r30+8];"), "there is no mbarrier"));
  CHECK(contains(found("cp.async.bulk.global.shared::cta.bulk_group [%d30+4088], [%r31], 16;"), "misaligned access"));
  CHECK(contains(found("cp.async.bulk.prefetch.L2.global [%d29], 8;"), "expected a multiple of 16"));
  CHECK(found("cp.async.bulk.prefetch.L2.global [%d29], 64;") == "");
  // Nothing is copied, and nobody is told.
  CHECK(run("mov.u32 %r3, 0;\n@%p1 " + load + "[%r31], [%d29], %r3, [%r30];\n" +
            "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%d30], [%r31], %r3;\n")
            .found == "");
}

TEST_CASE("emulator bulk copies: what the ISA does not have is an error") {
  for (const char* bad : {
           "cp.async.bulk.shared::cluster.global.bulk_group [%r31], [%d29], 16;",
           "cp.async.bulk.global.global.bulk_group [%d29], [%d29], 16;",
           "cp.async.bulk.global.shared::cta.bulk_group [%d29], [%r31];",
           "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.b32 [%d29], [%r31], 16;",
           "cp.reduce.async.bulk.global.shared::cta.bulk_group.u32 [%d29], [%r31], 16;",
           "cp.reduce.async.commit_group;",
           "cp.async.bulk.wait_group.write 0;",
           "fence.proxy.async.shared;",
           "fence.proxy.async::generic.acquire.sync_restrict::shared::cta.cluster;",
           "fence.proxy.generic;",
           "fence.mbarrier_init.release.cta;",
       })
    CHECK_THROWS_AS(LoadedModule::load(hopper_module_of("", bad)), Error);
}

}  // namespace tilewright::rt::emulator
