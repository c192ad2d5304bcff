// Every subcommand of the program: what it writes where, and its exit code.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "frontend/cli/npy.h"
#include "runtime/devices.h"
#include "tests/cli/program.h"
#include "tileir/op_info.h"

namespace tilewright::test {
namespace {

using cli::read_npy;
using cli::write_npy;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

template <class T>
std::string npy(ir::Element e, const std::vector<T>& values, std::vector<std::int64_t> shape = {}) {
  if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
  return write_npy(e, shape, std::as_bytes(std::span(values)));
}

template <class T>
std::vector<T> values(const std::string& npy_contents) {
  const cli::NpyArray array = read_npy(npy_contents, "result");
  std::vector<T> v(array.data.size() / sizeof(T));
  std::memcpy(v.data(), array.data.data(), array.data.size());
  return v;
}

std::vector<float> numbers(std::size_t n, float scale) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = scale * static_cast<float>(i);
  return v;
}

const std::vector<std::string> kCommands = {"devices", "compile", "opt", "run", "reduce", "ops", "layout", "completion", "man"};

TEST_CASE("command line: --help explains the program and every command, with an example each") {
  const Outcome root = tilewright({"--help"});
  CHECK(root.code == 0);
  CHECK(root.err.empty());
  for (const std::string& c : kCommands) {
    CHECK(contains(root.out, "\n  " + c + " "));
    const Outcome help = tilewright({c, "--help"});
    CAPTURE(c);
    CHECK(help.code == 0);
    CHECK(help.err.empty());
    CHECK(contains(help.out, "Usage: tilewright " + c + " "));
    CHECK(contains(help.out, "\n  tilewright " + c));
  }
  const Outcome version = tilewright({"--version"});
  CHECK(version.code == 0);
  CHECK(version.out.starts_with("tilewright 0."));
}

TEST_CASE("devices: the cpu, and why the others are missing") {
  const Outcome o = tilewright({"devices"});
  CHECK(o.code == 0);
  CHECK(o.err.empty());
  CHECK(o.out.starts_with("cpu "));
  CHECK(contains(o.out, "\ncuda:0"));
  CHECK(contains(o.out, "not usable: ") != tilewright::rt::list_devices().at(1).usable);
  CHECK(contains(o.out, "\ninterpreter"));
}

TEST_CASE("compile: each form of a kernel, from a file or standard input, to a file or standard output") {
  const Folder folder;
  folder.write("add.tile", kernel_text("add"));
  const Outcome ir = tilewright({"compile", "add.tile"}, "", folder.path());
  CHECK(ir.code == 0);
  CHECK(ir.err.empty());
  CHECK(contains(ir.out, "kernel @add("));
  const Outcome llvm = tilewright({"compile", "-", "--emit", "llvm", "--target", "cpu:x86-64-v3"}, kernel_text("add"));
  CHECK(llvm.code == 0);
  CHECK(contains(llvm.out, "define void @tilewright_entry("));
  const Outcome assembly = tilewright({"compile", "add.tile", "--emit=assembly", "--target=cpu:x86-64", "-o", "add.s"}, "", folder.path());
  CHECK(assembly.code == 0);
  CHECK(assembly.out.empty());
  CHECK(contains(folder.read("add.s"), "tilewright_entry:"));
  CHECK(contains(folder.read("add.s"), "xmm"));
  CHECK_FALSE(contains(folder.read("add.s"), "ymm"));  // the baseline has no AVX
  const Outcome stats = tilewright({"compile", "add.tile", "--emit", "stats"}, "", folder.path());
  CHECK(stats.code == 0);
  for (const char* what : {"kernel 'add' for cpu", "object bytes", "passes ms", "llvm ms", "total ms"}) CHECK(contains(stats.out, what));
}

TEST_CASE("compile: PTX of every GPU, its statistics, and a cubin where there is an assembler") {
  const Folder folder;
  folder.write("add.tile", kernel_text("add"));
  for (const char* target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"}) {
    const Outcome ptx = tilewright({"compile", "add.tile", "--target", target, "--emit", "ptx"}, "", folder.path());
    CHECK(ptx.code == 0);
    CHECK(ptx.err.empty());
    CHECK(contains(ptx.out, fmt::format("\n.target {}", target)));
    CHECK(contains(ptx.out, ".entry add("));
    CHECK(contains(ptx.out, "128, 1, 1"));
  }
  CHECK(contains(tilewright({"compile", "-", "--target=sm_80", "--warps=8", "--emit=assembly"}, kernel_text("add")).out, "256, 1, 1"));
  CHECK(contains(tilewright({"compile", "-", "--target=sm_80", "--emit=llvm"}, kernel_text("add")).out, "nvptx64"));
  CHECK(contains(tilewright({"compile", "-", "--target=sm_80"}, kernel_text("add")).out, "f32[256] #"));

  folder.write("ptxas",
               "#!/bin/sh\necho \"Compiling entry function 'add'\"\necho 'ptxas info : Used 77 registers, 360 bytes cmem[0]'\n"
               "for last; do :; done\necho cubin of \"$@\" > \"$last\"\n");
  std::filesystem::permissions(folder.path() / "ptxas", std::filesystem::perms::owner_all);
  const std::string before = std::getenv("TILEWRIGHT_PTXAS") ? std::getenv("TILEWRIGHT_PTXAS") : "";
  setenv("TILEWRIGHT_PTXAS", (folder.path() / "ptxas").c_str(), 1);
  const Outcome known = tilewright({"compile", "add.tile", "--target", "sm_80", "--emit", "stats"}, "", folder.path());
  CHECK(known.code == 0);
  for (const char* what : {"kernel 'add' for sm_80", "PTX bytes", "global loads", "barriers", "passes ms", "total ms"})
    CHECK(contains(known.out, what));
  CHECK(contains(known.out, "registers                77\n"));
  const Outcome cubin = tilewright({"compile", "add.tile", "--target", "sm_86", "--emit", "cubin", "-o", "add.cubin"}, "", folder.path());
  CHECK(cubin.code == 0);
  CHECK(contains(folder.read("add.cubin"), "--gpu-name=sm_86"));
  setenv("TILEWRIGHT_PTXAS", "/nonexistent/ptxas", 1);
  const Outcome unknown = tilewright({"compile", "add.tile", "--target", "sm_80", "--emit", "stats"}, "", folder.path());
  CHECK(unknown.code == 0);
  CHECK(contains(unknown.out, "registers                -1\n"));
  const Outcome none = tilewright({"compile", "add.tile", "--target", "sm_80", "--emit", "cubin"}, "", folder.path());
  CHECK(none.code == 1);
  CHECK(none.out.empty());
  CHECK(contains(none.err, "--emit cubin: TILEWRIGHT_PTXAS is '/nonexistent/ptxas', which is no program that can be run"));
  before.empty() ? unsetenv("TILEWRIGHT_PTXAS") : setenv("TILEWRIGHT_PTXAS", before.c_str(), 1);
}

TEST_CASE("opt: the pipeline of a GPU ends in tiles that lie in threads") {
  const Outcome o = tilewright({"opt", "-", "--passes=default", "--target=sm_80", "--warps=2", "--timing"}, kernel_text("add"));
  CHECK(o.code == 0);
  CHECK(contains(o.out, "f32[256] #"));
  CHECK(contains(o.err, "assign_layouts\n"));
  CHECK(tilewright({"opt", "-", "--passes=canonicalize", "--target=sm_80"}, o.out).code == 0);
}

TEST_CASE("compile: all kernels of a file, or the one that is named") {
  const std::string both = kernel_text("add") + kernel_text("softmax");
  const Outcome all = tilewright({"compile", "-"}, both);
  CHECK(all.code == 0);
  CHECK(contains(all.out, "kernel @add("));
  CHECK(contains(all.out, "kernel @softmax("));
  const Outcome one = tilewright({"compile", "-", "--kernel", "softmax", "--emit", "tileir"}, both);
  CHECK_FALSE(contains(one.out, "kernel @add("));
  CHECK(contains(one.out, "kernel @softmax("));
}

TEST_CASE("opt: runs the passes that are named, in order, and prints what can be read again") {
  const std::string text = "kernel @k(%z: ptr<i32>) {\n  %a = constant {value = 2} : i32\n  %b = add %a, %a : i32\n  store %z, %b\n}\n";
  const Outcome folded = tilewright({"opt", "-", "--passes=canonicalize,cse"}, text);
  CHECK(folded.code == 0);
  CHECK(folded.err.empty());
  CHECK(contains(folded.out, "{value = 4}"));
  CHECK_FALSE(contains(folded.out, "add"));
  CHECK(contains(tilewright({"opt", "-", "--passes=cse"}, text).out, "add"));
  const Outcome again = tilewright({"opt", "-", "--passes", "canonicalize"}, folded.out);
  CHECK(again.out == folded.out);
  CHECK(contains(tilewright({"opt", "-", "--passes=cse", "--locations"}, text).out, "@ \"<stdin>\":3:8"));
}

TEST_CASE("opt: --timing names every pass of the pipeline on standard error, results stay on standard output") {
  const Outcome o = tilewright({"opt", "-", "--passes=default", "--timing", "--verify-each"}, kernel_text("softmax"));
  CHECK(o.code == 0);
  CHECK(o.out.starts_with("kernel @softmax("));
  for (const char* pass : {"canonicalize\n", "licm\n", "expand_math\n", "in all\n"}) CHECK(contains(o.err, pass));
  CHECK(contains(o.out, "fma ") !=
        contains(tilewright({"opt", "-", "--passes=combine,canonicalize", "--no-contract"}, kernel_text("layer_norm")).out, "fma "));
}

TEST_CASE("run: reads and writes NumPy files on every device, and keeps their shapes") {
  const Folder folder;
  folder.write("add.tile", kernel_text("add"));
  const auto x = numbers(600, 0.5f), y = numbers(600, 2.0f);
  folder.write("x.npy", npy(ir::Element::f32, x, {20, 30}));
  folder.write("y.npy", npy(ir::Element::f32, y));
  folder.write("z.npy", npy(ir::Element::f32, numbers(600, 0), {2, 300}));
  for (const char* device : {"cpu", "cpu:x86-64", "interpreter"}) {
    CAPTURE(device);
    const Outcome o = tilewright(
        {"run",     "add.tile", "--kernel", "add",   "--device",  device,  "--grid",    "3",     "--arg",         "x=x.npy", "--arg",
         "y=y.npy", "--arg",    "z=z.npy",  "--arg", "n=i32:600", "--out", "z=out.npy", "--out", "x=x_again.npy", "--check"},
        "", folder.path());
    CHECK(o.code == 0);
    CHECK(o.out.empty());
    CHECK(o.err.empty());
    CHECK(read_npy(folder.read("out.npy"), "out").shape == std::vector<std::int64_t>{2, 300});
    CHECK(read_npy(folder.read("x_again.npy"), "x").shape == std::vector<std::int64_t>{20, 30});
    const auto z = values<float>(folder.read("out.npy"));
    REQUIRE(z.size() == 600);
    for (std::size_t i = 0; i < z.size(); ++i) CHECK(z[i] == x[i] + y[i]);
  }
}

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
  refused({"--kernel", "scale", "--grid", "1", "--arg", "x=x.npy"}, "'x' is no position of a parameter: 'scale' has 3");
  refused({"--kernel", "scale", "--grid", "1", "--arg", "2=f64:3"}, "parameter 2 of 'scale' has 4 bytes; 'f64:3' has 8");
  refused({"--kernel", "scale", "--grid", "1,70000", "--arg", "0=x.npy", "--arg", "1=zeros:f32:256", "--arg", "2=f32:3"},
          "run of 'scale': grid extent 1 is 70000; it must be at most 65535 on every device");
  refused({"--kernel", "tile", "--grid", "1", "--arg", "0=tensormap:x.npy:8"}, "the array has 2 dimensions, and the box 1");
  refused({"--kernel", "tile", "--grid", "1", "--arg", "0=tensormap:x.npy:8x4:swizzle7"}, "'swizzle7' is no swizzle");
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
  CHECK(contains(run("u8:4,f64:0.5,zeros:f32:20,i32:16", "1.3=y.npy").err, "parameter 1.3 is no buffer"));
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
  const auto run = [&](const std::string& name, std::vector<std::string> more, unsigned interrupt_ms = 0) {
    std::vector<std::string> words = {"run", "spin.ptx", "--device", "emulator:sm_90a", "--kernel",     name, "--grid",
                                      "2",   "--warps",  "2",        "--arg",           "0=zeros:u32:4"};
    words.insert(words.end(), more.begin(), more.end());
    return tilewright(words, "", folder.path(), interrupt_ms);
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
  const Outcome interrupted = run("count", {"--limit", "0"}, 500);
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

TEST_CASE("run: arrays through standard input and output, zeros, positions for names, grids of three extents") {
  const Folder folder;
  folder.write("add.tile", kernel_text("add"));
  const auto x = numbers(10, 3.0f);
  const Outcome o = tilewright({"run", "add.tile", "--grid", "1,1,1", "--arg", "0=-", "--arg", "1=zeros:float32:10", "--arg",
                                "2=zeros:f32:10", "--arg", "n=int32:10", "--out", "z=-"},
                               npy(ir::Element::f32, x), folder.path());
  CHECK(o.code == 0);
  CHECK(o.err.empty());
  CHECK(values<float>(o.out) == x);
  CHECK(read_npy(o.out, "out").shape == std::vector<std::int64_t>{10});
}

TEST_CASE("run: scalars of every element type arrive as they were written") {
  struct Case {
    const char *type, *value;
    std::string expected;  // the bytes, little-endian
  };
  const Case cases[] = {{"i1", "bool:true", std::string("\1", 1)},
                        {"i8", "i8:-2", "\xfe"},
                        {"i16", "int16:-2", "\xfe\xff"},
                        {"i32", "i32:0x7f", std::string("\x7f\0\0\0", 4)},
                        {"i64", "i64:-9223372036854775808", std::string("\0\0\0\0\0\0\0\x80", 8)},
                        {"u8", "uint8:255", "\xff"},
                        {"u64", "u64:18446744073709551615", std::string(8, '\xff')},
                        {"f16", "f16:1.5", std::string("\0\x3e", 2)},
                        {"bf16", "bfloat16:-1.0", std::string("\x80\xbf", 2)},
                        {"f32", "f32:1e-3", std::string("\x6f\x12\x83\x3a", 4)},
                        {"f64", "float64:inf", std::string("\0\0\0\0\0\0\xf0\x7f", 8)},
                        {"f8e4m3", "float8_e4m3fn:0.5", "\x30"},
                        {"f8e5m2", "f8e5m2:-inf", "\xfc"}};
  for (const Case& c : cases) {
    CAPTURE(c.value);
    const std::string text = fmt::format("kernel @k(%v: {0}, %z: ptr<{0}>) {{\n  store %z, %v\n}}\n", c.type);
    const Outcome o = tilewright(
        {"run", "-", "--grid", "1", "--arg", fmt::format("v={}", c.value), "--arg", fmt::format("z=zeros:{}:1", c.type), "--out", "z=-"},
        text);
    CHECK(o.err.empty());
    REQUIRE(o.code == 0);
    CHECK(o.out.substr(o.out.size() - c.expected.size()) == c.expected);
  }
}

TEST_CASE("run: --check reports an access outside of a buffer at the line of the .tile file, on the cpu and in the interpreter") {
  const Folder folder;
  folder.write("add.tile", kernel_text("add"));
  for (const char* device : {"cpu", "interpreter"}) {
    const Outcome o = tilewright({"run", "add.tile", "--device", device, "--grid", "4", "--arg", "x=zeros:f32:1000", "--arg",
                                  "y=zeros:f32:1000", "--arg", "z=zeros:f32:1000", "--arg", "n=i32:1001", "--check"},
                                 "", folder.path());
    CHECK(o.code == 1);
    CHECK(o.out.empty());
    CAPTURE(o.err);
    CHECK(o.err.starts_with("add.tile:13:8: error: load of 4 bytes at index 1000 of a buffer of 1000 float elements"));
    CHECK(contains(o.err, "\n   13 |   %a = load %x_at, %mask : f32[256]\n      |        ^\n"));
    CHECK_FALSE(contains(o.err, "<unknown>"));
  }
}

TEST_CASE("run: --report says on standard error what ran and how long it took") {
  const Outcome o = tilewright(
      {"run", "-", "--grid", "2,3", "--arg", "x=zeros:bf16:600", "--arg", "factor=f32:2", "--arg", "n=i32:600", "--report", "--out", "x=-"},
      kernel_text("scale_bf16"));
  CHECK(o.code == 0);
  CHECK(read_npy(o.out, "out").elements == 600);
  for (const char* part : {"kernel 'scale_bf16' on cpu: ", "  grid      2,3\n", "x: ptr<bf16>, 600 elements, 1200 bytes",
                           "factor: f32, a scalar", "passes", "llvm", "load", "median of 21 launches"})
    CHECK(contains(o.err, part));
}

TEST_CASE("run: --report of an emulator counts instructions and memory traffic, in all and by line, in one launch") {
  const char* text = R"(kernel @twice(%x: ptr<f32> {divisible_by = 16}) {
  %i = arange {lo = 0, hi = 128} : i32[128]
  %p = broadcast %x : ptr<f32>[128]
  %a = add_ptr %p, %i : ptr<f32>[128]
  %v = load %a : f32[128]
  %w = add %v, %v : f32[128]
  store %a, %w
})";
  const Outcome o =
      tilewright({"run", "-", "--device", "emulator:sm_80", "--warps", "1", "--grid", "1", "--arg", "x=zeros:f32:128", "--report"}, text);
  CHECK(o.code == 0);
  CAPTURE(o.err);
  for (const char* part :
       {"1 launch of 1 blocks: ", "load global ", "1 requests of 16.00 sectors (at best 16.00), 512 bytes", "float32 ", "never ran 0 of ",
        "estimate  H100 SXM: ", " us, an estimate, ", ":5 1 instructions; 1 requests", ":7 2 instructions; 1 requests"})
    CHECK(contains(o.err, part));
}

TEST_CASE("run: the timed launches of a report start from the given buffers, and the output is that of the first") {
  const std::string text = "kernel @k(%x: ptr<i32>) {\n  %v = load %x : i32\n  %w = add %v, %v : i32\n  store %x, %w\n}\n";
  const Outcome o = tilewright({"run", "/dev/stdin", "--grid", "1", "--arg", "x=zeros:i32:1", "--report", "--out", "x=-"}, text);
  CHECK(o.code == 0);
  CHECK(values<std::int32_t>(o.out) == std::vector<std::int32_t>{0});
}

TEST_CASE("ops: a list by family with every op, one in full, JSON and Markdown") {
  const Outcome list = tilewright({"ops"}), json = tilewright({"ops", "--json"}), markdown = tilewright({"ops", "--markdown"});
  CHECK(list.code == 0);
  CHECK(list.out.starts_with("program\n"));
  std::size_t names = 0;
  for (const ir::OpKind k : ir::all_ops()) {
    const std::string name(ir::text(k));
    CHECK(contains(list.out, "\n  " + name + " "));
    CHECK(contains(json.out, "{\"name\": \"" + name + "\""));
    CHECK(contains(markdown.out, "### `" + name + "`\n"));
    ++names;
  }
  std::size_t objects = 0;
  for (auto at = json.out.find("\"family\""); at != json.out.npos; at = json.out.find("\"family\"", at + 1)) ++objects;
  CHECK(objects == names);
  const Outcome one = tilewright({"ops", "load"});
  for (const char* part : {"load  (memory)", "%r = load %pointer [, %mask] [, %other]", "mask (may be left out)",
                           "cache: standard | all | global", "results     1", "traits      reads"})
    CHECK(contains(one.out, part));
  CHECK(contains(tilewright({"ops", "for", "--markdown"}).out, "### `for`"));
}

TEST_CASE("layout: a picture of which thread holds what, after the steps in the order of the command line") {
  const Outcome plain = tilewright({"layout", "--shape", "16,64", "--order", "1,0", "--vector", "4", "--warps", "4"});
  CHECK(plain.code == 0);
  CHECK(plain.err.empty());
  CHECK(plain.out.starts_with("f32[16, 64]: 4 warps of 32 lanes, 8 elements a thread\n{register = [[0, 1], [0, 2], [8, 0]], lane = "));
  CHECK(contains(plain.out, "\n   15  w3 l16 r4-7  w3 l17 r4-7  "));
  const Outcome slice = tilewright({"layout", "--shape", "16,64", "--slice", "1", "--reshape", "2,8", "--transpose", "--element=f16"});
  CHECK(contains(slice.out, "after --slice 1, --reshape 2,8, --transpose: f16[8, 2]: 4 warps of 32 lanes, "));
  const Outcome other = tilewright({"layout", "--shape", "16,64", "--reshape", "64,16", "--slice", "1"});
  CHECK(contains(other.out, "after --reshape 64,16, --slice 1: f32[64]: "));
  const Outcome bases = tilewright({"layout", "--shape", "2,2", "--bases", "{register = [[0, 1]], lane = [[1, 0]]}"});
  CHECK(bases.out ==
        "f32[2, 2]: 1 warp of 2 lanes, 2 elements a thread\n{register = [[0, 1]], lane = [[1, 0]]}\n2 elements in a row a thread (8 "
        "bytes)\n\n"
        "       0\n    0  l0 r0-1\n    1  l1 r0-1\n");
  CHECK_FALSE(contains(bases.out, "\033"));
  CHECK(contains(tilewright({"layout", "--shape", "2,2", "--colour"}).out, "\033[48;5;"));
}

TEST_CASE("layout: a conversion with its way through shared memory, also as SVG") {
  const Folder folder;
  const std::vector<std::string> words = {"layout", "--shape", "64,64", "--vector", "8", "--element", "f16", "--convert-to", "0,1:8"};
  const auto with_svg = [&](const char* file) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--svg", file});
    return tilewright(all, "", folder.path());
  };
  const Outcome o = with_svg("t.svg");
  CHECK(o.code == 0);
  for (const char* part :
       {"from: f16[64, 64]", "\nto: f16[64, 64]", "\nshared memory: f16[64, 64] in 8192 bytes", "\nelements change warps\n",
        "  loads:  4 of 16 bytes a thread, 4 wavefronts each (at least 4)\n", "in row-major order it would be:\n"})
    CHECK(contains(o.out, part));
  const std::string svg = folder.read("t.svg");
  CHECK(svg.starts_with("<svg "));
  CHECK(contains(svg, ">shared memory</text>"));
  CHECK(with_svg("-").out == svg);
  const Outcome same = tilewright({"layout", "--shape", "16", "--warps", "1", "--convert-to", "0"});
  CHECK(contains(same.out, "\nno element moves\n"));
  const Outcome bases =
      tilewright({"layout", "--shape", "2,2", "--bases", "{lane = [[0, 1], [1, 0]]}", "--convert-to", "{lane = [[1, 0], [0, 1]]}"});
  CHECK(contains(bases.out, "\nelements change lanes within their warps: by shuffles, or\nthrough shared memory:\n"));
}

TEST_CASE("man and completion: made of the same commands and options as --help") {
  const Outcome man = tilewright({"man"});
  CHECK(man.code == 0);
  CHECK(man.out.starts_with(".TH TILEWRIGHT 1\n.SH NAME\n"));
  for (const std::string& c : kCommands) CHECK(contains(man.out, ".SS tilewright " + c + "\n"));
  CHECK(contains(man.out, "\\fB\\-\\-emit\\fR \\fItileir|llvm|ptx|assembly|cubin|stats\\fR"));
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome o = tilewright({"completion", shell});
    CAPTURE(shell);
    CHECK(o.code == 0);
    CHECK(o.err.empty());
    for (const std::string& c : kCommands) CHECK(contains(o.out, c));
    for (const char* word : {"expand_math", "tileir", "interpreter", "atomic_add", "no-contract"}) CHECK(contains(o.out, word));
  }
}

TEST_CASE(
    "run: device_print goes to standard output, or to standard error if an array goes there; failed assertions are told in checked mode") {
  const std::string text =
      "kernel @k(%x: ptr<f32>, %n: i32) {\n  %v = load %x : f32\n  device_print %v, %n {text = \"v = {}, n = {}\"}\n"
      "  %three = constant {value = 3} : i32\n  %c = lt %n, %three : i1\n  device_assert %c {text = \"n is small\"}\n  store %x, %v\n}\n";
  for (const char* device : {"cpu", "interpreter"}) {
    CAPTURE(device);
    const std::vector<std::string> words = {"run", "-", "--device", device, "--grid", "1", "--arg", "x=zeros:f32:1", "--arg", "n=i32:5"};
    const auto with = [&](std::vector<std::string> more) {
      more.insert(more.begin(), words.begin(), words.end());
      return tilewright(more, text);
    };
    const Outcome plain = with({});
    CHECK(plain.code == 0);
    CHECK(plain.out == "<stdin>:3: program (0, 0, 0): v = 0, n = 5\n");
    CHECK(plain.err.empty());
    const Outcome piped = with({"--out", "x=-", "--report"});
    CHECK(read_npy(piped.out, "out").elements == 1);
    CHECK(piped.err.starts_with("<stdin>:3: program (0, 0, 0): v = 0, n = 5\nkernel 'k' on "));  // once, however often it is timed
    const Outcome checked = with({"--check"});
    CHECK(checked.code == 1);
    CHECK(contains(checked.err, "<stdin>:6:3: error: device_assert: n is small (program (0, 0, 0))\n    6 |   device_assert %c"));
  }
}

TEST_CASE("reduce: passes that change what a kernel does are pinned down in a few ops; passes that do not are told") {
  const Outcome fine = tilewright({"reduce", "-", "--passes=default"}, kernel_text("softmax"));
  CHECK(fine.code == 1);
  CHECK(contains(fine.err, "kernel 'softmax' does not fail: the passes leave what it does"));
  // Contraction rounds once where the kernel rounds twice: with no tolerance at all, that is a pass to blame.
  const Outcome o = tilewright({"reduce", "-", "--passes=combine", "--tolerance", "0"}, kernel_text("layer_norm"));
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  CHECK(contains(o.err, "'layer_norm' fails: y["));
  CHECK(contains(o.out, "// tilewright reduce FILE --passes=combine --tolerance 0\n"));
  CHECK(o.out.size() < kernel_text("layer_norm").size() / 2);
  const Outcome again = tilewright({"reduce", "-", "--passes=combine", "--tolerance", "0", "--attempts", "1"}, o.out);
  CHECK(again.code == 0);  // it fails by itself
}

TEST_CASE("reduce: a launch that disagrees with the interpreter leaves a small kernel that says how it was found") {
  // Between interpreter and cpu nothing may differ; a tolerance that nothing meets stands for a wrong device: exp differs in its last bits.
  const Folder folder;
  folder.write("softmax.tile", kernel_text("softmax"));
  folder.write("in.npy", npy(ir::Element::f32, numbers(200, 0.037f)));
  const Outcome o = tilewright({"reduce", "softmax.tile", "--run", "--grid", "2", "--arg", "in=in.npy", "--arg", "out=zeros:f32:200",
                                "--arg", "columns=i32:100", "--tolerance", "0", "--attempts", "60", "-o", "small.tile"},
                               "", folder.path());
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  CHECK(contains(o.err, "'softmax' fails: out["));
  CHECK(contains(o.err, "reduced from 25 ops to "));
  const std::string small = folder.read("small.tile");
  CHECK(small.starts_with("// out["));
  CHECK(contains(small, "\n// tilewright reduce FILE --run --tolerance 0 --grid 2 --arg in=in.npy"));
  CHECK(small.size() < kernel_text("softmax").size());
  CHECK(tilewright({"opt", "small.tile", "--passes=cse"}, "", folder.path()).code == 0);
}

}  // namespace
}  // namespace tilewright::test
