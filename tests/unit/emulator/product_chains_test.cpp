// Products of wgmma that follow each other without a wait: the result is the same as with a wait after each.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

constexpr int kThreads = 128, kRegisters = 16;  // accumulator registers: %f0 to %f7 and %f8 to %f15

/// Shared memory and all registers come from `image`, and the accumulators go to `out`.
std::string kernel_of(const std::string& body) {
  std::string text = R"(.version 8.4
.target sm_90a
.address_size 64
.shared .align 1024 .b8 memory[8192];
.visible .entry k(.param .u64 image, .param .u64 out)
{
  .reg .pred %p<4>;
  .reg .b32 %r<16>;
  .reg .b64 %d<16>;
  .reg .b32 %f<64>;
  mov.u32 %r0, %tid.x;
  ld.param.u64 %d1, [image];
  mad.wide.u32 %d1, %r0, 64, %d1;
  ld.param.u64 %d2, [out];
  mad.wide.u32 %d2, %r0, 64, %d2;
  mov.u32 %r1, memory;
  mad.lo.u32 %r2, %r0, 64, %r1;
)";
  for (int i = 0; i < kRegisters; ++i)
    text += fmt::format("  ld.global.b32 %f{}, [%d1+{}];\n  st.shared.b32 [%r2+{}], %f{};\n", i, 4 * i, 4 * i, i);
  for (int i = 0; i < 4; ++i) text += fmt::format("  mov.b32 %f{}, %f{};\n", 20 + i, 3 * i);
  text += R"(  fence.proxy.async.shared::cta;
  bar.sync 0;
  cvt.u64.u32 %d6, %r1;
  shr.u64 %d6, %d6, 4;
  or.b64 %d6, %d6, 0x4000004000010000;
  add.u64 %d7, %d6, 256;
  setp.eq.u32 %p1, %r0, %r0;
  wgmma.fence.sync.aligned;
)" + body;
  for (int i = 0; i < kRegisters; ++i) text += fmt::format("  st.global.b32 [%d2+{}], %f{};\n", 4 * i, i);
  return text + "  ret;\n}\n";
}

const std::string kFirst = "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}", kSecond = "{%f8, %f9, %f10, %f11, %f12, %f13, %f14, %f15}",
                  kCommit = "wgmma.commit_group.sync.aligned;\n", kWait = "wgmma.wait_group.sync.aligned 0;\nwgmma.fence.sync.aligned;\n";

std::string product(const std::string& accumulators, const std::string& adds, const std::string& a = "%d6") {
  const std::string layouts = a == "%d6" ? "0, 0" : "0";
  return "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " + accumulators + ", " + a + ", %d7, " + adds + ", 1, 1, " + layouts + ";\n";
}

std::vector<u32> run(const std::string& body, const std::vector<u32>& image) {
  Bench bench(kernel_of(body));
  bench.launch_params.check = false;  // reading a register that wgmma still uses is a diagnostic, but also has a value
  Array<u32> in(bench.memory, image), out(bench.memory, image.size());
  REQUIRE(bench.run("k", {1, 1, 1}, {kThreads, 1, 1}, Params().add(in.address()).add(out.address())));
  return out.values();
}

}  // namespace

TEST_CASE("emulator product chains: the slots of accumulators that nobody reads belong to others before the commit") {
  std::string body = product("{%f40, %f41, %f42, %f43, %f44, %f45, %f46, %f47}", "0");
  for (int i = 0; i < 8; ++i) body += fmt::format("mov.b32 %f{}, {};\n", 48 + i, 100 + i);
  body += kCommit + kWait;
  for (int i = 0; i < 8; ++i) body += fmt::format("mov.b32 %f{}, %f{};\n", i, 48 + i);
  const auto out = run(body, std::vector<u32>(kThreads * kRegisters, 0x3c003c00));
  for (u32 i = 0; i < 8; ++i) CHECK(out[kRegisters + i] == 100 + i);
}

TEST_CASE("emulator product chains: in random order, the result is that of one product after the other") {
  std::mt19937 random(5);
  const auto one_of = [&](const std::vector<std::string>& all) { return all[random() % all.size()]; };
  for (int n = 0; n < 60; ++n) {
    std::vector<u32> image(kThreads * kRegisters);
    // Pairs of f16 from 2^-9 to 2^-2 are f32 of that size too.
    for (u32& pair : image) pair = 0x38003400u - random() % 8 * 0x04000400u + random() % 0x03ff03ffu;
    std::string chained, separate;
    for (u32 step = 0; step < 3 + random() % 10; ++step) {
      const std::string operand =
          one_of({"%d6", "%d6", "%d6", "{%f20, %f21, %f22, %f23}", "{%f0, %f1, %f2, %f3}", "{%f12, %f9, %f9, %f4}"});
      const std::string next = product(one_of({kFirst, kFirst, kFirst, kSecond}), one_of({"1", "1", "1", "%p1", "!%p1", "0"}), operand);
      chained += next + (random() % 6 == 0 ? kCommit : "");
      separate += next + kCommit + kWait;
    }
    CAPTURE(chained);
    CHECK(run(chained + kCommit + kWait, image) == run(separate, image));
  }
}

}  // namespace tilewright::rt::emulator
