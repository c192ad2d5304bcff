// Warps: special registers of a launch in three dimensions. tests/ptx/emulator/warp.ptx has the rest.
#include <doctest/doctest.h>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {

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
