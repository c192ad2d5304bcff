// mbarriers: remarks of a launch that stops at its first finding. tests/ptx/emulator/mbarrier.ptx has the rest.
#include <doctest/doctest.h>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

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

}  // namespace

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

}  // namespace tilewright::rt::emulator
