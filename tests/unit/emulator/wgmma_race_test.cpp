// Races of wgmma that only some of a warpgroup's four warps have: what one of them may read, another may not.
#include <doctest/doctest.h>

#include <string>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

/// Four warps multiply by what a fifth one writes. `wait` stands before their wgmma and `after` behind it; `late` comes between the fifth's
/// fence and its arrival, and `again` ends it.
std::string kernel_of(const std::string& wait, const std::string& after = "", const std::string& again = "", const std::string& late = "") {
  return R"(.version 8.4
.target sm_90a
.address_size 64
.visible .entry k()
{
  .reg .pred %p<8>;
  .reg .b32 %r<16>;
  .reg .f32 %f<4>;
  .reg .b64 %d<4>;
  .shared .align 1024 .b8 tile[256];
  .shared .align 8 .b64 ready;
  .shared .align 8 .b64 used;
  .shared .align 8 .b64 changed;
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p0, %r0, 0;
  @%p0 mbarrier.init.shared::cta.b64 [ready], 32;
  @%p0 mbarrier.init.shared::cta.b64 [used], 32;
  @%p0 mbarrier.init.shared::cta.b64 [changed], 32;
  bar.sync 0;
  setp.ge.u32 %p1, %r0, 128;
  @%p1 bra WRITER;
  mov.b32 %r10, 0;
  mov.u32 %r1, tile;
  shr.u32 %r1, %r1, 4;
  cvt.u64.u32 %d0, %r1;
  or.b64 %d0, %d0, 68720001024;
  setp.lt.u32 %p2, %r0, 32;
)" + wait +
         R"(
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%r10, %r10, %r10, %r10}, %d0, 0, 1, 1, 0;
  wgmma.commit_group.sync.aligned;
)" + after +
         R"(
  wgmma.wait_group.sync.aligned 0;
  bra DONE;
WRITER:
  shl.b32 %r2, %r0, 3;
  mov.u32 %r3, tile;
  add.u32 %r2, %r2, %r3;
  sub.u32 %r2, %r2, 1024;
  st.shared.v2.b32 [%r2], {%r0, %r0};
  fence.proxy.async.shared::cta;
)" + late +
         R"(
  mbarrier.arrive.shared::cta.b64 _, [ready];
)" + again +
         R"(
DONE:
  ret;
}
)";
}

const std::string kWait = R"(
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [ready], 0;
  @!%p3 bra WAIT;)";

std::string found_in(const std::string& text) {
  Bench bench(text);
  bench.run("k", {1, 1, 1}, {160, 1, 1}, Params());
  return bench.found();
}

}  // namespace

TEST_CASE("emulator wgmma races: what all warps of a warpgroup waited for is theirs to read") { CHECK(found_in(kernel_of(kWait)) == ""); }

TEST_CASE("emulator wgmma races: eight bytes of an operand that are not like the others are found") {
  const std::string found = found_in(kernel_of(kWait, "", "", R"(
  setp.eq.u32 %p4, %r0, 150;
  @%p4 st.shared.v2.b32 [%r2], {%r0, %r0};)"));
  CAPTURE(found);
  CHECK(found.find("the read of shared memory at byte 176 is not ordered after the write by warp 4") != std::string::npos);
}

TEST_CASE("emulator wgmma races: that the first warp may read an operand does not let the others do so") {
  const std::string found = found_in(kernel_of(R"(
WAIT:
  @%p2 mbarrier.try_wait.parity.shared::cta.b64 %p3, [ready], 0;
  @!%p2 mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p3, [ready], 0;
  @!%p3 bra WAIT;)"));
  CAPTURE(found);
  CHECK(found.find("race in 'k', block (0,0,0), warp 1, lane 0") != std::string::npos);
  CHECK(found.find("is not ordered after the write by warp 4") != std::string::npos);
}

TEST_CASE("emulator wgmma races: an operand that changes between the warps of a warpgroup is looked at again") {
  const std::string found = found_in(kernel_of(R"(
  @!%p2 bra OTHERS;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [ready], 0;
  @!%p3 bra WAIT;
  bra.uni MULTIPLY;
OTHERS:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [changed], 0;
  @!%p3 bra OTHERS;
MULTIPLY:)",
                                               "  @%p2 mbarrier.arrive.shared::cta.b64 _, [used];", R"(
REUSE:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [used], 0;
  @!%p3 bra REUSE;
  st.shared.v2.b32 [%r2], {%r0, %r0};
  mbarrier.arrive.shared::cta.b64 _, [changed];)"));
  CAPTURE(found);
  CHECK(found.find("the write of shared memory at byte 0 is not ordered after the read by a matrix operation of warps 0 to 3") !=
        std::string::npos);
  CHECK(found.find("the read of shared memory at byte 0 is not ordered after the write by warp 4") != std::string::npos);
  CHECK(found.find("because no proxy fence comes between them") != std::string::npos);
}

}  // namespace tilewright::rt::emulator
