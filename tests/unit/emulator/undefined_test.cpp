// Undefined values: launches that do not check for them, and the lines of reports. tests/ptx/emulator/undefined.ptx has the rest.
#include <doctest/doctest.h>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {

TEST_CASE("emulator undefined values: nothing is looked for where accesses are not checked") {
  Bench bench(module_of(".param .u64 p", R"(
    .shared .align 16 .b8 tile[1024];
    mov.u32 %r0, %tid.x;
    ld.param.u64 %d1, [p];
    mad.wide.u32 %d2, %r0, 4, %d1;
    shl.b32 %r29, %r0, 2;
    mov.u32 %r30, tile;
    add.u32 %r30, %r30, %r29;
    st.global.u32 [%d2], %r1;
  )"));
  bench.launch_params.check = false;
  Array<u32> out(bench.memory, 64, 0);
  Params params;
  CHECK(bench.run("k", {1, 1, 1}, {64, 1, 1}, params.add(out.address())));
}

TEST_CASE("emulator findings: what is inlined is found at the line of the file that inlines it") {
  const std::string text = R"(.version 8.3
.target sm_80
.address_size 64
.file 1 "kernel.cu"
.file 2 "warp.h"
.visible .entry k(.param .u64 p) {
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  .loc 1 20 3
  ld.param.u64 %d1, [p];
  .loc 1 21 5
  .loc 1 7 9, function_name info, inlined_at 1 21 5
  .loc 2 100 1, function_name info, inlined_at 1 7 9
  .loc 2 90 2, function_name info, inlined_at 2 100 1
  st.global.u32 [%d1], %r1;
  .loc 1 22 5
  st.global.u32 [%d1], %r2;
  ret;
}
)";
  Bench bench(text);
  Array<u32> out(bench.memory, 1, 0);
  Params params;
  bench.run("k", {1, 1, 1}, {1, 1, 1}, params.add(out.address()));
  const std::vector<Diagnostic> found = bench.diagnostics.list();
  REQUIRE(found.size() == 2);
  CHECK(found[0].source.file == "kernel.cu");
  CHECK(found[0].source.line == 7);
  CHECK(found[0].inlined.file == "warp.h");
  CHECK(found[0].inlined.line == 90);
  CHECK(contains(to_string(found[0]), "\nwarp.h:90: note: the instruction is of a function that is inlined there"));
  CHECK(found[1].source.line == 22);
  CHECK(found[1].inlined.line == 0);
}

}  // namespace tilewright::rt::emulator
