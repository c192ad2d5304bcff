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
  CHECK(contains(refused({2, 1, 1}, {3, 1, 1}, "", "sm_90a"), "a grid of (3,1,1) blocks is no multiple of clusters of (2,1,1)"));
  CHECK(contains(refused({4, 4, 2}, {4, 4, 2}, "", "sm_90a"), "clusters of (4,4,2) blocks: expected 1 to 16"));
  CHECK(contains(refused({2, 1, 1}, {4, 1, 1}, ".reqnctapercluster 4, 1, 1", "sm_90a"), "the kernel requires (4,1,1)"));
  CHECK(refused({}, {4, 1, 1}, ".reqnctapercluster 4, 1, 1", "sm_90a") == "");
  CHECK(contains(refused({}, {2, 1, 1}, ".reqnctapercluster 4, 1, 1", "sm_90a"), "is no multiple of clusters of (4,1,1)"));
}

}  // namespace tilewright::rt::emulator
