// Clusters: special registers of clusters, and launches that are errors. tests/ptx/emulator/cluster.ptx has the rest.
#include <doctest/doctest.h>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {

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
  CHECK(contains(refused({2, 1, 1}, {3, 1, 1}, "", "sm_90a"), "a grid of (3,1,1) blocks is not a multiple of clusters of (2,1,1)"));
  CHECK(contains(refused({4, 4, 2}, {4, 4, 2}, "", "sm_90a"), "clusters of (4,4,2) blocks: expected 1 to 16"));
  CHECK(contains(refused({2, 1, 1}, {4, 1, 1}, ".reqnctapercluster 4, 1, 1", "sm_90a"), "the kernel requires (4,1,1)"));
  CHECK(refused({}, {4, 1, 1}, ".reqnctapercluster 4, 1, 1", "sm_90a") == "");
  CHECK(contains(refused({}, {2, 1, 1}, ".reqnctapercluster 4, 1, 1", "sm_90a"), "is not a multiple of clusters of (4,1,1)"));
}

namespace {

/// Two blocks that hand a number on to each other by st.async, 7 times; each adds 1 to what it gets. `wait`: how they wait; `work`: so many
/// more instructions ahead of each look at the mbarrier.
std::string passing_on(const std::string& wait, int work) {
  std::string more;
  for (int k = 0; k < work; ++k) more += "add.u32 %r20, %r20, 3;\n";
  return hopper_module_of(".param .u64 out", R"(
    .shared .align 8 .b64 bar;
    .shared .align 16 .b8 tile[64];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %cluster_ctarank;
    xor.b32 %r2, %r1, 1;
    setp.eq.u32 %p1, %r0, 0;
    mov.u32 %r10, bar;
    mov.u32 %r11, tile;
    mapa.shared::cluster.u32 %r12, %r10, %r2;
    mapa.shared::cluster.u32 %r13, %r11, %r2;
    @%p1 mbarrier.init.shared::cta.b64 [%r10], 1;
    @%p1 fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    mov.u32 %r5, 0;
    mov.u32 %r6, 0;
  ROUND:
    and.b32 %r7, %r6, 1;
    setp.ne.u32 %p2, %r7, %r1;
    @%p2 bra GET;
    @%p1 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r13], %r5, [%r12];
    bra NEXT;
  GET:
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r10], 4;
    shr.u32 %r8, %r6, 1;
    and.b32 %r8, %r8, 1;
  WAIT:
    mov.u32 %r20, 0;
)" + more + "mbarrier." + wait +
                                                 R"(.parity.acquire.cluster.shared::cta.b64 %p3, [%r10], %r8;
    @!%p3 bra WAIT;
    ld.shared.u32 %r5, [%r11];
    add.u32 %r5, %r5, 1;
  NEXT:
    add.u32 %r11, %r11, 4;
    add.u32 %r13, %r13, 4;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p2, %r6, 7;
    @%p2 bra ROUND;
    ld.param.u64 %d1, [out];
    mad.wide.u32 %d1, %r1, 4, %d1;
    @%p1 st.global.u32 [%d1], %r5;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
  )");
}

}  // namespace

TEST_CASE("emulator clusters: copies that are still to be done are not a deadlock, whenever they are done") {
  for (const auto& [wait, work] : {std::pair("try_wait", 0), {"try_wait", 200}, {"test_wait", 0}, {"test_wait", 200}}) {
    CAPTURE(wait);
    CAPTURE(work);
    Bench bench(passing_on(wait, work));
    bench.compares_fast_paths = false;
    Array<u32> out(bench.memory, 2, 0);
    Params params;
    params.add(out.address());
    bench.launch_params.cluster = {2, 1, 1};
    for (const AsyncOrder async : kAsyncOrders)
      for (const Order order : {Order::forward, Order::backward, Order::random})
        for (u64 seed = 1; seed <= 8; ++seed) {
          bench.launch_params.async_order = async;
          bench.launch_params.order = order;
          bench.launch_params.seed = bench.launch_params.order_seed = seed;
          CHECK(bench.run("k", {2, 1, 1}, {32, 1, 1}, params));
          if (!bench.found().empty()) FAIL_CHECK(bench.found());
          CHECK(out.values() == std::vector<u32>{6, 7});
        }
  }
}

}  // namespace tilewright::rt::emulator
