// The command bench: what it measures and counts, its files, and what does not end it.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "frontend/cli/bench/rows/kernel_row.h"
#include "tests/cli/arrays.h"
#include "tests/cli/program.h"

namespace tilewright::test {
namespace {

using cli::bench::kernel_rows;
using cli::bench::KernelRow;

/// Whether Python finds no mistake in a JSON or an XML file, and what it then says of it by `print(d)`.
bool is_well_formed(const Folder& folder, const std::string& file) {
  const std::string path = (folder.path() / file).string();
  const char* parse =
      file.ends_with(".json") ? "import json, sys; json.load(open(sys.argv[1]))" : "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])";
  return std::system(fmt::format("{} -c '{}' {}", TW_PYTHON, parse, path).c_str()) == 0;
}

void write_executable(const Folder& folder, const std::string& name, const std::string& text) {
  folder.write(name, text);
  chmod((folder.path() / name).c_str(), 0700);
}

/// Odd shapes of all kernels, which take no time.
const std::map<std::string, const char*> kSmall = {{"matmul", "33x17x65"},
                                                   {"matmul_bias_relu", "33x17x65"},
                                                   {"matmul_batched", "3x17x9x33"},
                                                   {"matmul_scaled", "33x17x65"},
                                                   {"grouped_matmul", "3x37x17x33"},
                                                   {"matvec", "33x65"},
                                                   {"gated_mlp", "9x17x33"},
                                                   {"softmax", "5x100"},
                                                   {"log_softmax", "5x100"},
                                                   {"layer_norm", "5x100"},
                                                   {"rms_norm", "5x100"},
                                                   {"cross_entropy", "5x100"},
                                                   {"top_k", "5x100x7"},
                                                   {"attention", "1x2x33x16"},
                                                   {"attention_causal", "1x2x33x16"},
                                                   {"decode_attention", "2x2x33x16"},
                                                   {"decode_attention_paged", "2x2x48x16"},
                                                   {"rotary", "1x2x9x16"},
                                                   {"softmax_backward", "5x100"},
                                                   {"layer_norm_backward", "5x100"},
                                                   {"rms_norm_backward", "5x100"},
                                                   {"cross_entropy_backward", "5x100"},
                                                   {"attention_backward", "1x2x33x16"},
                                                   {"transpose", "33x65"},
                                                   {"copy", "33x65"},
                                                   {"fill", "33x65"},
                                                   {"random_uniform", "33x65"},
                                                   {"random_normal", "33x65"},
                                                   {"dropout", "33x65"},
                                                   {"stencil", "33x65"},
                                                   {"stencil_3d", "5x9x33"},
                                                   {"reduce", "1001"},
                                                   {"reduce_rows", "33x65"},
                                                   {"reduce_columns", "33x65"},
                                                   {"scan", "1001"},
                                                   {"sort", "1001"},
                                                   {"sort_keys", "1001"},
                                                   {"histogram", "1001x17"},
                                                   {"group_by", "1001x17"},
                                                   {"compact", "1001"},
                                                   {"gather", "17x33x9"},
                                                   {"scatter_add", "17x33x9"},
                                                   {"spmv", "101x5"},
                                                   {"fft", "3x32"}};

TEST_CASE("bench: every kernel of the list is right and measured, in every type, on the cpu") {
  const std::string list = tilewright({"bench", "--list"}).out;
  CHECK(kSmall.size() == kernel_rows().size());
  for (const KernelRow& row : kernel_rows()) {
    CAPTURE(row.name);
    REQUIRE(kSmall.contains(row.name));
    const char* shape = kSmall.at(row.name);
    CHECK(contains(list, fmt::format("\n  {} ", row.name)));
    const Outcome o = tilewright({"bench", row.name, "--shapes", shape, "--types", "all", "--rounds", "3", "--seconds", "0"});
    CHECK(o.code == 0);
    CHECK(o.err.empty());
    CHECK(contains(o.out, "kernel "));
    for (const ir::Element type : row.problems.types) CHECK(contains(o.out, fmt::format("{:<5}  {:<4}  ", shape, ir::text(type))));
  }
}

TEST_CASE("bench: emulators count, and check results") {
  const Folder folder;
  const Outcome o =
      tilewright({"bench", "matmul", "softmax", "--device", "emulator:sm_80", "--shapes", "64x64", "--json", "b.json"}, "", folder.path());
  CHECK(o.code == 2);  // shapes of two kernels
  const Outcome counted = tilewright({"bench", "matmul", "softmax", "attention_causal", "--device", "emulator:sm_80", "--json", "b.json",
                                      "--plot", "b.svg", "--vs", "torch"},
                                     "", folder.path());
  CHECK(counted.code == 0);
  CHECK(contains(counted.out, "torch      left out: nothing is timed on an emulator"));
  CHECK(contains(counted.out, "64x64x64     f16         16"));
  CHECK(contains(counted.out, "262,144"));  // multiply-adds of 64 x 64 x 64
  CHECK(is_well_formed(folder, "b.json"));
  CHECK(is_well_formed(folder, "b.svg"));
  CHECK(contains(folder.read("b.json"), "\"matrix_products\": 262144"));
  CHECK(contains(folder.read("b.svg"), "estimated from what the emulator counted"));
}

/// An environment variable, while this object lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST_CASE("bench: --tune says what it chose and what the model had chosen, and writes the wisdom file") {
  const Folder folder;
  const Variable wisdom("TILEWRIGHT_WISDOM", (folder.path() / "wisdom").c_str());
  const auto bench = [&](const std::string& kernel, const std::string& shape, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"bench", kernel, "--shapes", shape, "--tune", "--rounds", "3", "--seconds", "0", "--json", "b.json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome o = tilewright(words, "", folder.path());
    CHECK(o.code == 0);
    CHECK(o.err.empty());
    CHECK(is_well_formed(folder, "b.json"));
    return o.out;
  };
  for (const char* device : {"cpu", "emulator:sm_80"})
    for (int time = 0; time < 2; ++time) {  // configurations that were measured before are measured again
      CAPTURE(device);
      const std::string out = bench("matmul", "48x33x65", {"--types", "f32", "--device", device});
      CHECK(contains(out, "  kernels::matmul tuned: bm "));
      CHECK(contains(out, "model's choice"));
      CHECK(contains(folder.read("b.json"), "\"tuned\": [{\"kernel\": \"kernels::matmul\", \"chosen\": {\"bm\": "));
      CHECK(contains(folder.read("b.json"), "\"model\": {\"bm\": "));
      CHECK(contains(folder.read("wisdom"), "kernels::matmul"));
    }
  const std::string both = bench("gated_mlp", "40x48x64", {});
  CHECK(contains(both, "  kernels::gated_mlp tuned: "));
  CHECK(contains(both, "  kernels::matmul tuned: "));
  CHECK(contains(bench("softmax", "5x30", {}), "  nothing to tune: there is one configuration\n"));
  CHECK_FALSE(contains(tilewright({"bench", "copy", "--shapes", "33x65", "--rounds", "3", "--json", "-"}).out, "\"tuned\""));
}

TEST_CASE("bench: products of integers have a peak of their own") {
  const Outcome o = tilewright({"bench", "matmul", "--shapes", "33x17x65", "--types", "f32,i8", "--rounds", "3"});
  CHECK(o.code == 0);
  CHECK(contains(o.out, " GFLOP/s, measured\n"));
  CHECK(contains(o.out, "i8: "));
  CHECK(contains(o.out, " GOP/s, measured in i16\n"));
}

TEST_CASE("bench: files hold what the table says") {
  const Folder folder;
  const Outcome o = tilewright({"bench", "matmul", "softmax", "--types", "f32,f64", "--rounds", "3", "--seconds", "0", "--cold", "--vs",
                                "memcpy", "--json", "b.json", "--plot", "b.svg"},
                               "", folder.path());
  CHECK(o.code == 0);
  CHECK(contains(o.out, "caches cold"));
  CHECK(is_well_formed(folder, "b.json"));
  CHECK(is_well_formed(folder, "b.svg"));
  const std::string json = folder.read("b.json"), svg = folder.read("b.svg");
  for (const char* what : {"\"caches\": \"cold\"", "\"interrupted\": false", "\"clocks\"", "\"load\"", "\"relative_error\"",
                           "\"peak_gflops\"", "\"lower_quartile_ms\"", "\"share_of_roofline\"", "\"rounds\": 3", "\"memcpy\""})
    CHECK(contains(json, what));
  for (const char* what : {"1024x1024x1024 f64", "tilewright", "roofline", "GFLOP/s"}) CHECK(contains(svg, what));
  const Outcome to_stdout = tilewright({"bench", "copy", "--shapes", "8x8", "--rounds", "3", "--json", "-"});
  CHECK(to_stdout.out.starts_with("{"));
  CHECK(contains(to_stdout.err, "kernel "));
}

TEST_CASE("bench: a peer that is missing, fails or gives wrong results is skipped, and the report says why") {
  const Folder folder;
  write_executable(folder, "ends", "#!/bin/sh\necho 'no such module' >&2\nexit 1\n");
  write_executable(folder, "breaks", "#!/bin/sh\nread request\necho '@ok version 1'\nread request\nexit 1\n");
  write_executable(
      folder, "lies",
      "#!/bin/sh\nread request\necho '@ok version 1'\nread request\necho noise\necho @ok\nread request\n"
      "file=$(echo \"$request\" | sed 's/.*\"file\": \"//; s/\".*//')\nhead -c 256 /dev/zero > \"$file\"\necho @ok\nread request\n");
  write_executable(folder, "has_none",
                   "#!/bin/sh\nread request\necho '@ok version 1'\nread request\necho '@no it has no copy'\nread request\n");
  const auto bench = [&](const std::string& python) {
    const Outcome o =
        tilewright({"bench", "copy", "--shapes", "8x8", "--rounds", "3", "--vs", "numpy,cublas", "--python", python, "--json", "b.json"},
                   "", folder.path());
    CAPTURE(python);
    CHECK(o.code == 0);
    CHECK(contains(o.out, "cublas     left out: it needs a GPU"));
    CHECK(contains(o.out, "copy    8x8    f32 "));
    CHECK(is_well_formed(folder, "b.json"));
    return o.out + o.err;
  };
  CHECK(contains(bench("./ends"), "numpy      left out: its process ended: no such module"));
  CHECK(contains(bench("./nowhere"), "cannot start './nowhere'"));
  CHECK(contains(bench("./breaks"), "numpy: left out of copy 8x8 f32: its process ended"));
  CHECK(contains(bench("./lies"), "numpy: left out of copy 8x8 f32: its result is wrong"));
  CHECK(contains(bench("./has_none"), "numpy: left out of copy 8x8 f32: it has no copy"));
}

TEST_CASE("bench: NumPy as a peer is right, and measured in turns") {
  if (std::system(TW_PYTHON " -c 'import numpy' 2>/dev/null") != 0) return;
  const Folder folder;
  for (const auto& [kernel, shape] : kSmall) {
    CAPTURE(kernel);
    const Outcome o = tilewright(
        {"bench", kernel, "--shapes", shape, "--rounds", "3", "--seconds", "0", "--vs", "numpy", "--python", TW_PYTHON, "--json", "b.json"},
        "", folder.path());
    CHECK(o.code == 0);
    CHECK(contains(o.out, "NumPy "));
    if (kernel == "attention_backward" || kernel == "decode_attention_paged") {
      CHECK(contains(o.err, "it has no " + kernel));
      continue;
    }
    CHECK(o.err.empty());
    CHECK_FALSE(contains(folder.read("b.json"), "failure"));
    CHECK(contains(folder.read("b.json"), "time_over_ours"));
  }
}

TEST_CASE("bench: OpenBLAS gets kernels for the processor, and the report names them") {
  const Variable libraries("LD_LIBRARY_PATH", TW_FAKE_OPENBLAS);
  const auto bench = [] {
    const Outcome o = tilewright({"bench", "matmul", "--shapes", "33x17x65", "--types", "f32", "--vs", "openblas", "--rounds", "3"});
    CAPTURE(o.err);
    CHECK(o.code == 0);
    CHECK(o.err.empty());
    return o.out;
  };
  {
    const Variable asked("OPENBLAS_CORETYPE", "Nehalem");
    CHECK(contains(bench(), "openblas   OpenBLAS 0.0.0, kernels of Nehalem, "));
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    CHECK(contains(bench(), ", kernels of SkylakeX (by itself it would run those of Prescott), "));
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    CHECK(contains(bench(), ", kernels of Haswell (by itself it would run those of Prescott), "));
  else
    CHECK(contains(bench(), ", kernels of Prescott, "));
}

#ifdef TW_FAKE_NVIDIA
TEST_CASE("bench: cuBLAS by its functions, on a driver with emulated GPUs") {
  const Variable libraries("LD_LIBRARY_PATH", TW_FAKE_NVIDIA);
  const Folder folder;
  const auto bench = [&](const std::string& kernel, const std::string& shape, const std::string& type) {
    const Outcome o = tilewright({"bench", kernel, "--device", "cuda:1", "--shapes", shape, "--types", type, "--vs", "cublas,memcpy",
                                  "--rounds", "3", "--seconds", "0", "--json", "b.json", "--plot", "b.svg"},
                                 "", folder.path());
    CAPTURE(o.err);
    CHECK(o.code == 0);
    CHECK(contains(o.out, "cublas     cublasLt 12.9.6"));
    CHECK(contains(o.out, "driver     CUDA 12.6, 999.88"));
    CHECK(contains(o.out, "clocks     1110 of 3330 MHz, memory 2220 MHz"));
    CHECK(is_well_formed(folder, "b.json"));
    CHECK(is_well_formed(folder, "b.svg"));
    return o.err + folder.read("b.json");
  };
  const std::string product = bench("matmul", "48x33x65", "f32");
  CHECK(contains(product, "{\"name\": \"cublas\", \"relative_error\": "));
  CHECK_FALSE(contains(product, "failure"));
  CHECK(contains(product, "\"gpu\": {\"sm_mhz\": 1110, \"memory_mhz\": 2220, \"watts\": 123.456, \"celsius\": 44}"));
  CHECK_FALSE(contains(bench("matvec", "48x65", "f32"), "failure"));
  CHECK(contains(bench("softmax", "8x65", "f16"), "cublas: left out of softmax 8x65 f16: it is called for single products only"));
  CHECK(contains(bench("matmul", "8x8x8", "f16"), "its heuristics have no algorithm (cublasStatus_t 15)"));
  const Variable wrong("FAKE_CUBLAS", "wrong");
  CHECK(contains(bench("matmul", "8x8x8", "f32"), "cublas: left out of matmul 8x8x8 f32: its result is wrong"));
  const Variable fails("FAKE_CUBLAS", "fails");
  CHECK(contains(bench("matmul", "8x8x8", "f32"), "cublasLtMatmul fails with cublasStatus_t 13"));
}

TEST_CASE("bench: peers of one backend are asked for attention only, and told which backend") {
  const Variable libraries("LD_LIBRARY_PATH", TW_FAKE_NVIDIA);
  const Folder folder;
  write_executable(folder, "python",
                   "#!/bin/sh\nread request\necho \"$request\" >> opened\necho '@ok version 1'\nread request\n"
                   "echo '@no no such kernel here'\nread request\n");
  const auto bench = [&](const char* kernel, const char* shape) {
    return tilewright({"bench", kernel, "--device", "cuda:1", "--shapes", shape, "--types", "f16", "--vs", "cudnn,flash", "--rounds", "3",
                       "--seconds", "0", "--python", "./python"},
                      "", folder.path())
        .err;
  };
  const std::string attention = bench("attention_causal", "1x1x32x16");
  CHECK(contains(attention, "cudnn: left out of attention_causal 1x1x32x16 f16: no such kernel here"));
  CHECK(contains(attention, "flash: left out of attention_causal 1x1x32x16 f16: no such kernel here"));
  CHECK(contains(bench("softmax", "8x8"), "cudnn: left out of softmax 8x8 f16: it is called for attention only"));
  CHECK(contains(folder.read("opened"), "\"backend\": \"cudnn\""));
  CHECK(contains(folder.read("opened"), "\"backend\": \"flash\""));
}

TEST_CASE("bench: a kernel of a file on a driver with emulated GPUs") {
  const Variable libraries("LD_LIBRARY_PATH", TW_FAKE_NVIDIA);
  const Folder folder;
  folder.write("add.tile", kernel_text("add"));
  const Outcome o = tilewright({"bench", "add.tile", "--device", "cuda:4", "--grid", "4", "--arg", "x=zeros:f32:1000", "--arg",
                                "y=zeros:f32:1000", "--arg", "z=zeros:f32:1000", "--arg", "n=i32:1000", "--rounds", "3", "--cold"},
                               "", folder.path());
  CAPTURE(o.err);
  CHECK(o.code == 0);
  CHECK(contains(o.out, "add     grid 4"));
}

#endif

TEST_CASE("bench: a signal leaves the rows that are done, in all files") {
  const Folder folder;
  for (const std::vector<SentSignal>& signals :
       {std::vector<SentSignal>{{SIGINT, 200}}, {{SIGTERM, 0}}, {{SIGTERM, 200}, {SIGTERM, 0}, {SIGTERM, 10}}}) {
    const Outcome o =
        tilewright({"bench", "copy", "matmul", "--rounds", "100000", "--seconds", "0.5", "--json", "b.json", "--plot", "b.svg"}, "",
                   folder.path(), signals);
    CHECK(o.code == 128 + signals.front().number);
    CHECK(contains(o.out, "kernel "));
    CHECK(contains(o.err, "interrupted: "));
    CHECK(is_well_formed(folder, "b.json"));
    CHECK(is_well_formed(folder, "b.svg"));
    CHECK(contains(folder.read("b.json"), "\"interrupted\": true"));
  }
}

TEST_CASE("bench: a second Ctrl-C leaves no file that is empty") {
  for (const unsigned pause_ms : {0u, 20u, 200u}) {
    const Folder folder;
    const Outcome o =
        tilewright({"bench", "matmul", "--shapes", "2000x2000x2000", "--seconds", "60", "--json", "b.json", "--plot", "b.svg"}, "",
                   folder.path(), {{SIGINT, 300}, {SIGINT, pause_ms}});
    CHECK(o.code == 128 + SIGINT);
    for (const char* file : {"b.json", "b.svg"}) CHECK((!std::filesystem::exists(folder.path() / file) || is_well_formed(folder, file)));
  }
}

TEST_CASE("bench: a kernel of a file, on the cpu and on an emulator") {
  const Folder folder;
  folder.write("add.tile", kernel_text("add"));
  folder.write("x.npy", npy(ir::Element::f32, numbers(1000, 0.5f)));
  const std::vector<std::string> words = {"bench",   "add.tile", "--grid",           "4",     "--arg",      "x=x.npy", "--arg",
                                          "y=x.npy", "--arg",    "z=zeros:f32:1000", "--arg", "n=i32:1000", "--json",  "b.json"};
  const auto bench = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return tilewright(all, "", folder.path());
  };
  const Outcome cpu = bench({"--rounds", "3", "--vs", "memcpy", "--plot", "b.svg"});
  CHECK(cpu.code == 0);
  CHECK(contains(cpu.out, "add     grid 4"));
  CHECK(contains(cpu.out, "GB/s"));
  CHECK(contains(folder.read("b.json"), "\"bytes\": 12000"));
  CHECK(is_well_formed(folder, "b.svg"));
  const Outcome emulator = bench({"--device", "emulator:sm_80"});
  CHECK(emulator.code == 0);
  CHECK(contains(emulator.out, "375 (100 %)"));  // sectors of 12000 bytes
  CHECK(is_well_formed(folder, "b.json"));
  const Outcome outside = tilewright({"bench", "add.tile", "--grid", "4"}, "", folder.path());
  CHECK(outside.code == 2);
  CHECK(contains(outside.err, "no --arg gives a value to 'x'"));
}

}  // namespace
}  // namespace tilewright::test
