// Every subcommand of the program: what it writes where, and its exit code.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>

#include "runtime/devices.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"
#include "tileir/op_info.h"

namespace tilewright::test {
namespace {

using cli::read_npy;

const std::vector<std::string> kCommands = {"devices", "compile", "opt",    "run",   "graph",      "bench",
                                            "reduce",  "ops",     "layout", "rules", "completion", "man"};

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
  for (const char* target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"}) {
    const Outcome ptx = tilewright({"compile", "add.tile", "--target", target, "--emit", "ptx"}, "", folder.path());
    CHECK(ptx.code == 0);
    CHECK(ptx.err.empty());
    // GPUs of 10.0 and 12.0 run code of 9.0.
    CHECK(contains(ptx.out, fmt::format("\n.target {}", std::string_view(target).size() > 5 && target[3] == '1' ? "sm_90" : target)));
    CHECK(contains(ptx.out, ".entry add("));
    CHECK(contains(ptx.out, "128, 1, 1"));
  }
  CHECK(contains(tilewright({"compile", "-", "--target=sm_80", "--warps=8", "--emit=assembly"}, kernel_text("add")).out, "256, 1, 1"));
  CHECK(contains(tilewright({"compile", "-", "--target=sm_80", "--emit=llvm"}, kernel_text("add")).out, "nvptx64"));
  CHECK(contains(tilewright({"compile", "-", "--target=sm_80"}, kernel_text("add")).out, "f32[256] #"));

  folder.write("ptxas",
               "#!/bin/sh\necho 'ptxas add.ptx, line 2; warning : it is slow'\n"
               "echo \"Compiling entry function 'add'\"\necho '    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads'\n"
               "echo 'ptxas info : Used 77 registers, 360 bytes cmem[0]'\n"
               "for last; do :; done\necho cubin of \"$@\" > \"$last\"\n");
  std::filesystem::permissions(folder.path() / "ptxas", std::filesystem::perms::owner_all);
  const std::string before = std::getenv("TILEWRIGHT_PTXAS") ? std::getenv("TILEWRIGHT_PTXAS") : "";
  setenv("TILEWRIGHT_PTXAS", (folder.path() / "ptxas").c_str(), 1);
  const Outcome known = tilewright({"compile", "add.tile", "--target", "sm_80", "--emit", "stats"}, "", folder.path());
  CHECK(known.code == 0);
  for (const char* what : {"kernel 'add' for sm_80", "PTX bytes", "global loads", "barriers", "passes ms", "total ms"})
    CHECK(contains(known.out, what));
  CHECK(contains(known.out, "registers                77\n"));
  CHECK(known.err.empty());
  const Outcome remarked = tilewright({"compile", "add.tile", "--target", "sm_80", "--remarks"}, "", folder.path());
  CHECK(remarked.code == 0);
  CHECK(contains(remarked.err,
                 "remark: kernel 'add': warning : it is slow\n"
                 "remark: kernel 'add': ptxas gives a thread 77 registers and spills 12 bytes; smaller tiles or more warps need fewer\n"));
  CHECK(tilewright({"compile", "add.tile", "--target", "cpu:x86-64", "--remarks"}, "", folder.path()).err.empty());
  const Outcome cubin = tilewright({"compile", "add.tile", "--target", "sm_86", "--emit", "cubin", "-o", "add.cubin"}, "", folder.path());
  CHECK(cubin.code == 0);
  CHECK(contains(folder.read("add.cubin"), "--gpu-name=sm_86"));
  setenv("TILEWRIGHT_PTXAS", "/nonexistent/ptxas", 1);
  const Outcome unknown = tilewright({"compile", "add.tile", "--target", "sm_80", "--emit", "stats"}, "", folder.path());
  CHECK(unknown.code == 0);
  CHECK(contains(unknown.out, "registers                -1\n"));
  CHECK(tilewright({"compile", "add.tile", "--target", "sm_80", "--remarks"}, "", folder.path()).err.empty());
  const Outcome none = tilewright({"compile", "add.tile", "--target", "sm_80", "--emit", "cubin"}, "", folder.path());
  CHECK(none.code == 1);
  CHECK(none.out.empty());
  CHECK(contains(none.err, "--emit cubin: TILEWRIGHT_PTXAS is '/nonexistent/ptxas', which is not a program that can be run"));
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

TEST_CASE("opt: the default passes of a kernel with layouts are those that are left, and ops on tiles with layouts need them") {
  const std::string layout = "  layout #0 [32] {lane = [[1], [2], [4], [8], [16]]}\n";
  const auto text = [&](const std::string& layouts, const std::string& under) {
    return "kernel @k(%z: ptr<i32>) {\n" + layouts + "  roles {warps = [1]} {\n    %at = broadcast %z : ptr<i32>[32]" + under +
           "\n    %i = arange {lo = 0, hi = 32} : i32[32]" + under + "\n    store %at, %i\n    yield\n  }\n}\n";
  };
  const Outcome left = tilewright({"opt", "-", "--passes=default", "--target", "sm_80", "--timing"}, text(layout, " #0"));
  CHECK(left.code == 0);
  CHECK(contains(left.err, "insert_barriers\n"));
  CHECK_FALSE(contains(left.err, "assign_layouts\n"));
  const Outcome refused = tilewright({"opt", "-", "--passes=default", "--target", "sm_80"}, text("", ""));
  CHECK(refused.code == 1);
  CHECK(contains(refused.err, "2:3: error: roles: it needs tiles with layouts, as the passes for GPUs make them"));
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

TEST_CASE("rules: found and proved anew, with the proof of one or of all") {
  const Outcome all = tilewright({"rules", "--ops", "2"});
  CHECK(all.code == 0);
  CHECK(all.err.empty());
  CHECK(contains(all.out, "order            (a * b) * c = a * (b * c)                  same    both   -\n"));
  const Outcome one = tilewright({"rules", "--ops", "2", "--proof", "part_0"});
  CHECK(one.code == 0);
  CHECK(contains(one.out, "part0_of_cat\n"));
  CHECK_FALSE(contains(one.out, "product_order"));
  CHECK(contains(tilewright({"rules", "--ops", "2", "--proofs"}).out, "product_order\n"));
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
    for (const char* word : {"expand_math", "tileir", "interpreter", "atomic_add", "no-contract", "decode_attention"})
      CHECK(contains(o.out, word));
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
  CHECK(contains(fine.err, "kernel 'softmax' does not fail: the passes do not change its results"));
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
