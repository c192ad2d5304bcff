// Clusters on the emulator: their registers, barrier and shared memory, and what happens to a block that others still use.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "runtime/emulator/driver/emulated_driver.h"
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
};

/// A cluster of two blocks of 32 threads. %r0 is the thread, %r1 the rank and %r2 the other one; %r31 is a tile of shared memory, %r30
/// two mbarriers and %r28, %r29 the same of the other block; %d30 is the block's 64 words of the result.
const std::string kStart = R"(
  .shared .align 8 .b64 bars[2];
  .shared .align 128 .b8 tile[1024];
  mov.u32 %r30, bars;
  mov.u32 %r31, tile;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %cluster_ctarank;
  xor.b32 %r2, %r1, 1;
  setp.eq.u32 %p1, %r0, 0;
  setp.eq.u32 %p6, %r1, 0;
  and.pred %p7, %p1, %p6;
  mapa.shared::cluster.u32 %r28, %r30, %r2;
  mapa.shared::cluster.u32 %r29, %r31, %r2;
  ld.param.u64 %d29, [in];
  ld.param.u64 %d30, [out];
  mul.wide.u32 %d1, %r1, 256;
  add.u64 %d30, %d30, %d1;
  mul.wide.u32 %d28, %r0, 4;
  add.u64 %d28, %d28, %d30;
  mad.lo.u32 %r27, %r0, 4, %r31;
  mad.lo.u32 %r26, %r0, 4, %r29;
)";
const std::string kArrive = "barrier.cluster.arrive.release.aligned;\n", kWait = "barrier.cluster.wait.acquire.aligned;\n";
const std::string kSync = kArrive + kWait;

Ran run(const std::string& body, AsyncOrder async_order = AsyncOrder::lazy, Order order = Order::forward) {
  Bench bench(hopper_module_of(".param .u64 in, .param .u64 out", kStart + body));
  bench.launch_params.async_order = async_order;
  bench.launch_params.order = order;
  bench.launch_params.cluster = {2, 1, 1};
  bench.launch_params.seed = 3;
  std::vector<u32> values(256);
  for (u32 i = 0; i < 256; ++i) values[i] = i;
  Array<u32> in(bench.memory, values), out(bench.memory, 128, 0);
  Params params;
  bench.run("k", {2, 1, 1}, {32, 1, 1}, params.add(in.address()).add(out.address()));
  return {out.values(), bench.found()};
}

}  // namespace

TEST_CASE("emulator clusters: registers say which block of which cluster it is") {
  Bench bench(hopper_module_of(".param .u64 out", R"(
    ld.param.u64 %d1, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ctaid.y;
    mad.lo.u32 %r1, %r2, 4, %r1;
    mad.wide.u32 %d1, %r1, 44, %d1;
    mov.u32 %r3, %clusterid.x;        st.global.u32 [%d1], %r3;
    mov.u32 %r3, %clusterid.y;        st.global.u32 [%d1+4], %r3;
    mov.u32 %r3, %nclusterid.x;       st.global.u32 [%d1+8], %r3;
    mov.u32 %r3, %nclusterid.y;       st.global.u32 [%d1+12], %r3;
    mov.u32 %r3, %cluster_ctaid.x;    st.global.u32 [%d1+16], %r3;
    mov.u32 %r3, %cluster_ctaid.y;    st.global.u32 [%d1+20], %r3;
    mov.u32 %r3, %cluster_nctaid.x;   st.global.u32 [%d1+24], %r3;
    mov.u32 %r3, %cluster_nctaid.y;   st.global.u32 [%d1+28], %r3;
    mov.u32 %r3, %cluster_ctarank;    st.global.u32 [%d1+32], %r3;
    mov.u32 %r3, %cluster_nctarank;   st.global.u32 [%d1+36], %r3;
    mov.pred %p1, %is_explicit_cluster;
    selp.u32 %r3, 1, 0, %p1;          st.global.u32 [%d1+40], %r3;
  )"));
  Array<u32> out(bench.memory, 16 * 11, 0);
  Params params;
  params.add(out.address());
  bench.launch_params.cluster = {2, 2, 1};
  CHECK(bench.run("k", {4, 4, 1}, {1, 1, 1}, params));
  const auto values = out.values();
  for (u32 y = 0; y < 4; ++y)
    for (u32 x = 0; x < 4; ++x) {
      const std::vector<u32> expected{x / 2, y / 2, 2, 2, x % 2, y % 2, 2, 2, x % 2 + y % 2 * 2, 4, 1};
      CHECK(std::vector<u32>(values.begin() + (y * 4 + x) * 11, values.begin() + (y * 4 + x) * 11 + 11) == expected);
    }
  bench.launch_params.cluster = {};
  CHECK(bench.run("k", {4, 4, 1}, {1, 1, 1}, params));
  CHECK(out.values()[10] == 0);
  CHECK(out.values()[11] == 1);
}

TEST_CASE("emulator clusters: shared memory of the other block, written and read across the cluster's barrier") {
  for (const Order order : {Order::forward, Order::backward, Order::random}) {
    const Ran read = run("mad.lo.u32 %r5, %r1, 100, %r0;\nst.shared.u32 [%r27], %r5;\n" + kSync +
                             "ld.shared::cluster.u32 %r6, [%r26];\nst.global.u32 [%d28], %r6;\n" + kSync,
                         AsyncOrder::lazy, order);
    CHECK(read.found == "");
    for (u32 i = 0; i < 32; ++i) CHECK(read.out[i] == 100 + i);
    for (u32 i = 0; i < 32; ++i) CHECK(read.out[64 + i] == i);
    const Ran written = run(kSync + "mad.lo.u32 %r5, %r1, 100, %r0;\nst.shared::cluster.u32 [%r26], %r5;\n" + kSync +
                                "ld.shared.u32 %r6, [%r27];\nst.global.u32 [%d28], %r6;\n",
                            AsyncOrder::lazy, order);
    CHECK(written.found == "");
    for (u32 i = 0; i < 32; ++i) CHECK(written.out[i] == 100 + i);
    // Through generic addresses, and by atomics of both blocks.
    const Ran atomics = run("st.shared.u32 [%r27], 0;\n" + kSync +
                                "cvta.shared.u64 %d2, tile;\nmapa.u64 %d3, %d2, %r2;\natom.add.u32 %r5, [%d3], 1;\n"
                                "red.relaxed.cluster.shared::cluster.add.u32 [%r31], 2;\n" +
                                kSync + "ld.shared.u32 %r6, [%r31];\nst.global.u32 [%d28], %r6;\n",
                            AsyncOrder::lazy, order);
    CHECK(atomics.found == "");
    CHECK(atomics.out[0] == 96);
    CHECK(atomics.out[64] == 96);
  }
}

TEST_CASE("emulator clusters: without the barrier, its release or its acquire there is a race, without the last one an exited block") {
  const auto found = [](const std::string& between, const std::string& end, Order order = Order::forward) {
    return run("st.shared.u32 [%r27], %r0;\n" + between + "ld.shared::cluster.u32 %r6, [%r26];\n" + end, AsyncOrder::lazy, order).found;
  };
  CHECK(found(kSync, kSync) == "");
  CHECK(found("", kSync) != "");
  CHECK(contains(found("barrier.cluster.arrive.relaxed.aligned;\n" + kWait, kSync),
                 "the read of shared memory at byte 128 is not ordered after the write by warp 0 of the block of rank 0"));
  CHECK(found("fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed.aligned;\n" + kWait, kSync) == "");
  CHECK(found("bar.sync 0;\n", kSync) != "");
  for (const Order order : {Order::forward, Order::backward}) CHECK(contains(found(kSync, "", order), "access to a block that has exited"));
}

TEST_CASE("emulator clusters: the end of a block has to come after what others do to its memory, whoever ends first") {
  // Rank 0 alone does it to rank 1.
  const auto found = [](const std::string& access, const std::string& end, Order order) {
    return run("st.shared.u32 [%r27], 1;\n@%p1 mbarrier.init.shared::cta.b64 [%r30], 1;\n@%p1 fence.mbarrier_init.release.cluster;\n" +
                   kSync + "@!%p6 bra DONE;\n" + access + "DONE:\n" + end,
               AsyncOrder::lazy, order)
        .found;
  };
  const std::string accesses[] = {"ld.shared::cluster.u32 %r5, [%r26];\n", "st.shared::cluster.u32 [%r26], %r0;\n",
                                  "red.relaxed.cluster.shared::cluster.add.u32 [%r29], 2;\n",
                                  "@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r28];\n",
                                  "@%p1 mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r28], 16;\n"
                                  "@%p1 mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r28], 16;\n"};
  for (const Order order : {Order::forward, Order::backward, Order::random})
    for (const std::string& access : accesses) {
      CAPTURE(access);
      CHECK(found(access, kSync, order) == "");
      CHECK(contains(found(access, "", order), "access to a block that has exited"));
      // An arrival that nobody of the other block waits for, and one without an order.
      CHECK(contains(found(access, kArrive, order), "access to a block that has exited"));
      if (access.find("mbarrier") == std::string::npos)
        CHECK(contains(found(access, "barrier.cluster.arrive.relaxed.aligned;\n" + kWait, order), "access to a block that has exited"));
    }
  const std::string text = found(accesses[0], kArrive, Order::backward);
  CHECK(contains(text, "in 'k', block (0,0,0), warp 0, lane 0"));
  CHECK(contains(text,
                 "the block of rank 1 may end before this access to its shared memory by warp 0 of the block of rank 0: expected that "
                 "one of its threads waits for it"));
}

TEST_CASE("emulator clusters: a block that waits for the arrivals of others at its mbarrier may end") {
  const auto found = [](const std::string& arrive, const std::string& wait) {
    std::string all;
    for (const Order order : {Order::forward, Order::backward})
      all += run("@%p1 mbarrier.init.shared::cta.b64 [%r30], 32;\nst.shared.u32 [%r27], %r0;\n@%p1 fence.mbarrier_init.release.cluster;\n" +
                     kSync + "ld.shared::cluster.u32 %r5, [%r26];\n" + arrive + wait,
                 AsyncOrder::lazy, order)
                 .found;
    return all;
  };
  const std::string wait = "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r30], 0;\n@!%p2 bra W;\n";
  const std::string arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r28];\n";
  CHECK(found(arrive, wait) == "");
  CHECK(contains(found(arrive, ""), "access to a block that has exited"));
  // That the arrivals are over is known then, and nothing of the reads before them.
  const std::string relaxed = found("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r28];\n", wait);
  CHECK(contains(relaxed, "may end before this access to its shared memory by warp 0"));
  CHECK(std::count(relaxed.begin(), relaxed.end(), '\n') == 2);  // one of each run
}

TEST_CASE("emulator clusters: wrong use of the barrier, and a deadlock there") {
  CHECK(contains(run(kArrive + kArrive + kWait).found, "arrives at the cluster's barrier again without a wait in between"));
  CHECK(contains(run(kWait).found, "waits for the cluster's barrier without having arrived there"));
  CHECK(contains(run("@%p6 bra SKIP;\n" + kSync + "SKIP:\nbar.sync 1, 64;\n").found,
                 "for the cluster's barrier, where 32 of 64 threads are"));
  // Threads that have exited count as arrived.
  CHECK(run("@%p6 exit;\n" + kSync).found == "");
}

TEST_CASE("emulator clusters: addresses that no block has") {
  CHECK(contains(run("mov.u32 %r5, 2;\nmapa.shared::cluster.u32 %r6, %r31, %r5;\n").found, "the block of rank 2 of a cluster of 2"));
  CHECK(contains(run(kSync + "ld.shared.u32 %r6, [%r29];\n" + kSync).found, "expected '.shared::cluster'"));
  CHECK(contains(run("st.shared::cluster.u32 [%r29+2048], %r0;\n" + kSync).found, "access out of bounds"));
  const Ran ranks = run(R"(
    getctarank.shared::cluster.u32 %r5, %r29;
    st.global.u32 [%d30], %r5;
    getctarank.shared::cluster.u32 %r5, %r31;
    st.global.u32 [%d30+4], %r5;
    cvta.shared::cluster.u64 %d2, %d3;
    cvt.u64.u32 %d3, %r29;
    cvta.shared::cluster.u64 %d2, %d3;
    getctarank.u64 %r5, %d2;
    st.global.u32 [%d30+8], %r5;
    isspacep.shared::cluster %p2, %d2;
    selp.u32 %r5, 1, 0, %p2;
    st.global.u32 [%d30+12], %r5;
    isspacep.shared::cta %p2, %d2;
    selp.u32 %r5, 1, 0, %p2;
    st.global.u32 [%d30+16], %r5;
  )");
  CHECK(std::vector<u32>(ranks.out.begin(), ranks.out.begin() + 5) == std::vector<u32>{1, 0, 1, 1, 0});
  CHECK(std::vector<u32>(ranks.out.begin() + 64, ranks.out.begin() + 69) == std::vector<u32>{0, 1, 0, 1, 0});
}

TEST_CASE("emulator clusters: mbarriers of the other block, and values that tell them") {
  const std::string init = "@%p1 mbarrier.init.shared::cta.b64 [%r30], 1;\n@%p1 fence.mbarrier_init.release.cluster;\n";
  const std::string sync = "barrier.cluster.arrive.relaxed.aligned;\n" + kWait;
  const std::string wait = "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r30], 0;\n@!%p2 bra W;\n";
  const std::string out = "ld.shared.u32 %r6, [%r31];\nst.global.u32 [%d28], %r6;\n" + kSync;
  for (const AsyncOrder order : kOrders) {
    const std::string put = "@%p1 st.shared::cluster.u32 [%r29], 77;\n";
    const std::string arrive = "@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r28];\n";
    const Ran handed = run(init + sync + put + arrive + wait + out, order);
    CHECK(handed.found == "");
    CHECK(handed.out[5] == 77);
    // Of this scope, the release does not reach the other block.
    CHECK(contains(run(init + sync + put + "@%p1 mbarrier.arrive.release.cta.shared::cluster.b64 _, [%r28];\n" + wait + out, order).found,
                   "race"));
    // Nor does an acquire of this scope hear of it.
    CHECK(contains(
        run(init + sync + put + arrive + "W: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r30], 0;\n@!%p2 bra W;\n" + out,
            order)
            .found,
        "race"));
    CHECK(run("@%p1 mbarrier.init.shared::cta.b64 [%r30], 1;\n" + sync + put + arrive + wait + out, order).found != "");

    const std::string expect = "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 8;\n";
    const std::string store =
        "mov.u32 %r5, 55;\n@%p1 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r29], {%r5, %r5}, [%r28];\n";
    const Ran stored = run(init + sync + expect + store + wait + out, order);
    CHECK(stored.found == "");
    CHECK(stored.out[5] == 55);
    CHECK(stored.out[64] == 55);
    CHECK(contains(run(init + sync + expect + store + out, order).found, "race"));
    const std::string zero = "st.shared.u32 [%r27], 0;\n";
    const std::string add =
        "mov.u32 %r5, 3;\n@%p1 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r29], %r5, [%r28];\n";
    const Ran added = run(zero + init + kSync + expect + add + add + wait + out, order);
    CHECK(added.found == "");
    CHECK(added.out[5] == 6);
    CHECK(contains(
        run(init + sync + expect + "@%p1 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r29], %d1, [%r30];\n" + kSync,
            order)
            .found,
        "the destination is in the block of rank"));
  }
}

TEST_CASE("emulator clusters: copies into the other block, and to both at once") {
  const std::string init = "@%p1 mbarrier.init.shared::cta.b64 [%r30], 1;\n@%p1 fence.mbarrier_init.release.cluster;\n" + kSync;
  const std::string expect = "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], 128;\n";
  const std::string wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r30], 0;\n@!%p2 bra W;\n";
  const std::string out = "ld.shared.u32 %r6, [%r27];\nst.global.u32 [%d28], %r6;\n";
  for (const AsyncOrder order : kOrders) {
    // Rank 0 loads for both.
    const std::string both =
        "mov.u16 %h1, 3;\n@%p7 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r31], [%d29], 128, "
        "[%r30], %h1;\n";
    const Ran multicast = run(init + expect + both + wait + out, order);
    CHECK(multicast.found == "");
    for (u32 i = 0; i < 32; ++i) CHECK(multicast.out[64 + i] == i);
    CHECK(contains(run(init + expect + both + out + kSync, order).found, "race"));
    // Rank 1 ends before what rank 0 loads for it is there.
    CHECK(run(init + "@!%p6 exit;\n" + expect + both + wait + out, order).found != "");
    CHECK(contains(run(init + expect +
                           "mov.u16 %h1, 4;\n@%p7 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                           "[%r31], [%d29], 128, [%r30], %h1;\n" +
                           kSync,
                       order)
                       .found,
                   "blocks 0x4 of a cluster of 2 blocks"));
    // Each block moves its tile into the second half of the other's, and waits before its own end until it has been read.
    const std::string fill = "mad.lo.u32 %r5, %r1, 100, %r0;\nst.shared.u32 [%r27], %r5;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n";
    const std::string move =
        "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r29+128], [%r31], 128, [%r28];\n";
    const Ran moved =
        run(init + fill + expect + move + wait + "ld.shared.u32 %r6, [%r27+128];\nst.global.u32 [%d28], %r6;\n" + kSync, order);
    CHECK(moved.found == "");
    for (u32 i = 0; i < 32; ++i) CHECK(moved.out[i] == 100 + i);
    for (u32 i = 0; i < 32; ++i) CHECK(moved.out[64 + i] == i);
    // The source is free when the other block has seen the copy end, and told so.
    CHECK(run(init + fill + expect + move + wait + kSync + "st.shared.u32 [%r27], 0;\n" + kSync, order).found == "");
    CHECK(contains(run(init + fill + expect + move + wait, order).found,
                   "may end before this access to its shared memory by a bulk copy that an mbarrier waits for of the block of rank"));
    CHECK(contains(run(init + fill + expect + move + wait + "st.shared.u32 [%r27], 0;\n" + kSync, order).found,
                   "is not ordered after the read by a bulk copy"));
  }
}

TEST_CASE("emulator clusters: launches whose clusters do not fit are refused") {
  const auto refused = [](std::array<u32, 3> cluster, std::array<u32, 3> grid, const std::string& globals, const std::string& target) {
    std::string text = hopper_module_of("", "");
    if (!globals.empty()) text.insert(text.find("\n{\n"), "\n" + globals);
    Bench bench(text);
    bench.launch_params.cluster = cluster;
    bench.launch_params.target = target;
    try {
      bench.run("k", grid, {32, 1, 1}, Params());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused({2, 1, 1}, {4, 1, 1}, "", "sm_90a") == "");
  CHECK(contains(refused({2, 1, 1}, {3, 1, 1}, "", "sm_90a"), "a grid of (3,1,1) blocks is no multiple of clusters of (2,1,1)"));
  CHECK(contains(refused({4, 4, 2}, {4, 4, 2}, "", "sm_90a"), "clusters of (4,4,2) blocks: expected 1 to 16"));
  CHECK(contains(refused({2, 1, 1}, {4, 1, 1}, ".reqnctapercluster 4, 1, 1", "sm_90a"), "the kernel requires (4,1,1)"));
  CHECK(refused({}, {4, 1, 1}, ".reqnctapercluster 4, 1, 1", "sm_90a") == "");
  CHECK(contains(refused({}, {2, 1, 1}, ".reqnctapercluster 4, 1, 1", "sm_90a"), "is no multiple of clusters of (4,1,1)"));
}

TEST_CASE("emulator clusters: what the ISA does not have is an error") {
  for (const char* bad : {
           "barrier.cluster.sync.aligned;",
           "barrier.cluster.arrive.acquire.aligned;",
           "mapa.shared::cta.u32 %r1, %r2, 0;",
           "mapa.u32 %r1, %r2, 0;",  // generic addresses have 64 bits here
           "getctarank.shared::cluster.b32 %r1, %r2;",
           "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b16 [%r1], %h1, [%r2];",
           "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.f32 [%r1], %r3, [%r2];",
           "griddepcontrol.arrive;",
       })
    CHECK_THROWS_AS(LoadedModule::load(hopper_module_of("", bad)), Error);
  CHECK_NOTHROW(LoadedModule::load(hopper_module_of("", "griddepcontrol.launch_dependents;\ngriddepcontrol.wait;")));
}

}  // namespace tilewright::rt::emulator
