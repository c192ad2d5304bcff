// `tilewright run FILE.ptx`: PTX of other compilers on an emulator.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>

#include "tests/cli/arrays.h"
#include "tests/cli/program.h"

namespace tilewright::test {
namespace {

TEST_CASE("run: PTX on an emulator, with arrays, scalars, what it prints, and tensor maps") {
  const Folder folder;
  folder.write("scale.ptx", R"(.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 128 .b8 memory[];
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 factor)
{
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [x];
  ld.param.u64 %d2, [y];
  ld.param.f32 %r1, [factor];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r2, %r2, 64, %r3;
  mad.wide.u32 %d1, %r2, 4, %d1;
  mad.wide.u32 %d2, %r2, 4, %d2;
  ld.global.f32 %r4, [%d1];
  mul.f32 %r4, %r4, %r1;
  st.global.f32 [%d2], %r4;
  ret;
}
.visible .entry tile(.param .align 64 .b8 map[128], .param .u64 y)
{
  .shared .align 8 .b64 barrier;
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  mov.u64 %d1, map;
  cvta.param.u64 %d1, %d1;
  ld.param.u64 %d2, [y];
  mov.u32 %r1, memory;
  mov.u32 %r2, %tid.x;
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra WAIT;
  mbarrier.init.shared::cta.b64 [barrier], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], 128;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1, {4, 2}], [barrier];
WAIT:
  bar.sync 0;
SPIN:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [barrier], 0;
  @!%p1 bra SPIN;
  mad.lo.u32 %r3, %r2, 4, %r1;
  ld.shared.b32 %r4, [%r3];
  mad.wide.u32 %d2, %r2, 4, %d2;
  st.global.b32 [%d2], %r4;
  ret;
}
)");
  const auto x = numbers(256, 0.5f);
  folder.write("x.npy", npy(ir::Element::f32, x, {16, 16}));
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"run", "scale.ptx", "--device", "emulator:sm_90a"});
    return tilewright(words, "", folder.path());
  };
  const Outcome scaled = run({"--kernel", "scale", "--grid", "4", "--warps", "2", "--arg", "0=x.npy", "--arg", "1=zeros:f32:256", "--arg",
                              "2=f32:3", "--out", "1=y.npy", "--report"});
  CHECK(scaled.code == 0);
  CHECK(contains(scaled.err, "kernel 'scale' on emulator:sm_90a"));
  const auto y = values<float>(folder.read("y.npy"));
  REQUIRE(y.size() == 256);
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == 3 * x[i]);

  const Outcome copied = run({"--kernel", "tile", "--grid", "1", "--warps", "1", "--shared", "128", "--arg", "0=tensormap:x.npy:8x4",
                              "--arg", "1=zeros:f32:32", "--out", "1=tile.npy"});
  CHECK(copied.err == "");
  CHECK(copied.code == 0);
  const auto tile = values<float>(folder.read("tile.npy"));
  REQUIRE(tile.size() == 32);
  for (std::size_t i = 0; i < tile.size(); ++i) CHECK(tile[i] == x[(2 + i / 4) * 16 + 4 + i % 4]);

  // A grid that goes past the end of the arrays: what was computed is written all the same.
  const Outcome beyond = run({"--kernel", "scale", "--grid", "5", "--warps", "2", "--arg", "0=x.npy", "--arg", "1=zeros:f32:256", "--arg",
                              "2=f32:5", "--out", "1=beyond.npy"});
  CHECK(beyond.code == 1);
  CHECK(contains(beyond.err, "out of bounds in 'scale'"));
  const auto partly = values<float>(folder.read("beyond.npy"));
  REQUIRE(partly.size() == 256);
  for (std::size_t i = 0; i < partly.size(); ++i) CHECK(partly[i] == 5 * x[i]);
  const auto refused = [&](std::vector<std::string> words, const char* why) {
    const Outcome o = run(std::move(words));
    CHECK(o.code == 2);
    INFO(o.err);
    CHECK(contains(o.err, why));
  };
  refused({"--grid", "1"}, "--kernel names none of the kernels of 'scale.ptx': 'scale', 'tile'");
  refused({"--kernel", "scale", "--grid", "1", "--arg", "0=x.npy"}, "no --arg gives a value to parameter 1 of 'scale'");
  refused({"--kernel", "scale", "--grid", "1", "--arg", "x=x.npy"}, "'x' is not a position of a parameter: 'scale' has 3");
  refused({"--kernel", "scale", "--grid", "1", "--arg", "2=f64:3"}, "parameter 2 of 'scale' has 4 bytes; 'f64:3' has 8");
  refused({"--kernel", "scale", "--grid", "1,70000", "--arg", "0=x.npy", "--arg", "1=zeros:f32:256", "--arg", "2=f32:3"},
          "run of 'scale': the grid has 70000 programs along axis 1; there must be at most 65535 on every device");
  refused({"--kernel", "tile", "--grid", "1", "--arg", "0=tensormap:x.npy:8"}, "the array has 2 dimensions, and the box 1");
  refused({"--kernel", "tile", "--grid", "1", "--arg", "0=tensormap:x.npy:8x4:swizzle7"}, "'swizzle7' is not a swizzle");
}

TEST_CASE("run: PTX whose parameters are structs") {
  const Folder folder;
  // struct { char c; double factor; float *x; int n; }
  folder.write("scale.ptx", R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u32 first, .param .align 8 .b8 s[32])
{
  .reg .pred %p<2>;
  .reg .b16 %h<2>;
  .reg .b32 %r<8>;
  .reg .f64 %f<2>;
  .reg .b64 %d<8>;
  ld.param.u32 %r1, [first];
  ld.param.u8 %h1, [s];
  ld.param.f64 %f1, [s+8];
  ld.param.u64 %d1, [s+16];
  ld.param.u32 %r2, [s+24];
  mov.u32 %r3, %tid.x;
  setp.ge.u32 %p1, %r3, %r2;
  @%p1 bra END;
  add.u32 %r4, %r3, %r1;
  cvt.u32.u16 %r5, %h1;
  add.u32 %r4, %r4, %r5;
  cvt.rn.f32.f64 %r6, %f1;
  cvt.rn.f32.u32 %r4, %r4;
  mul.f32 %r6, %r6, %r4;
  mad.wide.u32 %d2, %r3, 4, %d1;
  st.global.f32 [%d2], %r6;
END:
  ret;
}
)");
  const auto run = [&](const std::string& fields, const std::string& out) {
    return tilewright({"run", "scale.ptx", "--device", "emulator:sm_80", "--grid", "1", "--warps", "1", "--arg", "0=u32:1", "--arg",
                       "1=struct:" + fields, "--out", out},
                      "", folder.path());
  };
  const Outcome o = run("u8:4,f64:0.5,zeros:f32:20,i32:16", "1.2=y.npy");
  CHECK(o.err == "");
  CHECK(o.code == 0);
  const auto y = values<float>(folder.read("y.npy"));
  REQUIRE(y.size() == 20);
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == (i < 16 ? 0.5f * static_cast<float>(i + 5) : 0));
  CHECK(run("u8:4,pad:7,f64:0.5,zeros:f32:20,i32:16,pad:4", "1.2=y.npy").code == 0);
  CHECK(contains(run("u8:4,f64:0.5,zeros:f32:20", "1.2=y.npy").err,
                 "parameter 1 of 'scale' has 32 bytes; 'struct:u8:4,f64:0.5,zeros:f32:20' has 24"));
  CHECK(contains(run("u8:4,f64:0.5,zeros:f32:20,i32:16", "1.3=y.npy").err, "parameter 1.3 is not a buffer"));
}

TEST_CASE("run: PTX without an end is given up, and says where its warps are") {
  const Folder folder;
  const auto kernel = [](const std::string& name, const std::string& body) {
    return ".visible .entry " + name + "(.param .u64 x)\n{\n  .reg .pred %p<2>;\n  .reg .b32 %r<4>;\n  .reg .b64 %d<4>;\n" +
           "  ld.param.u64 %d1, [x];\n" + body + "  ret;\n}\n";
  };
  folder.write("spin.ptx",
               ".version 8.0\n.target sm_90a\n.address_size 64\n" +
                   kernel("flag", "LOOP:\n  ld.acquire.gpu.global.u32 %r1, [%d1];\n  setp.eq.u32 %p1, %r1, 0;\n  @%p1 bra LOOP;\n") +
                   kernel("count", "  mov.u32 %r1, 0;\nLOOP:\n  add.u32 %r1, %r1, 1;\n  bra LOOP;\n"));
  const auto run = [&](const std::string& name, std::vector<std::string> more, const std::vector<SentSignal>& signals = {}) {
    std::vector<std::string> words = {"run", "spin.ptx", "--device", "emulator:sm_90a", "--kernel",     name, "--grid",
                                      "2",   "--warps",  "2",        "--arg",           "0=zeros:u32:4"};
    words.insert(words.end(), more.begin(), more.end());
    return tilewright(words, "", folder.path(), signals);
  };
  const Outcome stuck = run("flag", {});
  CHECK(stuck.code == 1);
  INFO(stuck.err);
  CHECK(contains(stuck.err,
                 "deadlock in 'flag', block (0,0,0), warp 0, lane 0 (line 11 of the PTX): no warp can do anything new\n"
                 "  block (0,0,0), warps 0-1, and 1 more block: at line 11 of the PTX, polling 4 bytes at byte 0 of an allocation of 16 "
                 "bytes, which hold 0"));
  const Outcome limited = run("count", {"--limit", "100000"});
  CHECK(limited.code == 1);
  INFO(limited.err);
  CHECK(contains(limited.err, "unfinished launch in 'count', block (0,0,0)"));
  CHECK(contains(limited.err, "the limit being 100000\n  block (0,0,0), warps 0-1"));
  const Outcome interrupted = run("count", {"--limit", "0"}, {{SIGINT, 200}});
  CHECK(interrupted.code == 128 + SIGINT);
  INFO(interrupted.err);
  CHECK(contains(interrupted.err, "interrupted after "));
  CHECK(contains(interrupted.err, "warps 0-1"));
}

TEST_CASE("run: a remark on PTX is told, and no failure") {
  const Folder folder;
  folder.write("wait.ptx", R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry wait(.param .u64 out)
{
  .shared .align 8 .b64 barrier;
  .reg .pred %p<2>;
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 ret;
  mbarrier.init.shared.b64 [barrier], 1;
  mbarrier.test_wait.parity.shared.b64 %p1, [barrier], -1;
  selp.u32 %r1, 1, 0, %p1;
  st.global.u32 [%d1], %r1;
  ret;
}
)");
  const Outcome o = tilewright(
      {"run", "wait.ptx", "--device", "emulator:sm_80", "--grid", "1", "--warps", "1", "--arg", "0=zeros:u32:1", "--out", "0=out.npy"}, "",
      folder.path());
  CHECK(o.code == 0);
  CHECK(contains(o.err,
                 "remark: undefined operand in 'wait', block (0,0,0), warp 0, lane 0 (line 15 of the PTX): a parity of 4294967295: "
                 "expected 0 or 1"));
  CHECK(values<std::uint32_t>(folder.read("out.npy")) == std::vector<std::uint32_t>{1});
}

}  // namespace
}  // namespace tilewright::test
