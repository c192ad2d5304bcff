// How long kernels take from a C++ function to PTX, by phase, with no GPU. Also writes the PTX to files on request.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "backend/compile.h"
#include "tests/bench/gpu_kernels.h"
#include "tests/bench/report.h"
#include "tests/bench/traced.h"

namespace {

namespace tw = tilewright;
using Clock = std::chrono::steady_clock;

struct Case {
  std::string name;
  std::function<tw::ir::Function()> trace;
  int warps;
};

/// Each kernel with sizes that are multiples of 16, and with sizes of any value.
std::vector<Case> cases() {
  namespace gpu = bench::gpu;
  std::vector<Case> all;
  for (int divisible_by : {16, 1}) {
    const std::string suffix = divisible_by == 1 ? "_loose" : "";
    const auto add = [&](const std::string& name, auto* kernel, std::vector<int> constants, int warps) {
      all.push_back({name + suffix, [=] { return bench::traced(kernel, constants, divisible_by); }, warps});
    };
    add("add_f32", gpu::vector_add, {1024}, 4);
    add("softmax_f32_1024", gpu::softmax, {1024}, 4);
    add("softmax_f32_4096_w8", gpu::softmax, {4096}, 8);
    add("layernorm2_f32", gpu::layer_norm, {1024}, 4);
    add("transpose_f32", gpu::transpose, {64, 64}, 4);
    add("rowsum_f32_1024", gpu::row_sum, {1024}, 4);
    add("matmul_f32_64x64x16_ieee", gpu::matmul, {64, 64, 16}, 4);
    add("matmul_f16_128x128x32", gpu::product<tw::f16, float, false>, {128, 128, 32}, 4);
    add("matmul_f16_128x128x32_bt", gpu::product<tw::f16, float, true>, {128, 128, 32}, 4);
    add("matmul_f16_128x256x64_w8", gpu::product<tw::f16, float, false>, {128, 256, 64}, 8);
    add("matmul_tf32_128x128x32", gpu::product<float, float, false>, {128, 128, 32}, 4);
    add("matmul_tf32_128x128x32_bt", gpu::product<float, float, true>, {128, 128, 32}, 4);
    add("matmul_i8_128x128x64", gpu::product<std::int8_t, std::int32_t, false>, {128, 128, 64}, 4);
    add("matmul_i8_128x128x64_bt", gpu::product<std::int8_t, std::int32_t, true>, {128, 128, 64}, 4);
    add("attention_f16_128x64_d64", gpu::attention, {128, 64, 64}, 4);
  }
  return all;
}

class PtxBench {
 public:
  PtxBench(const bench::Options& options, std::vector<std::string> targets, std::string folder)
      : options_(options), targets_(std::move(targets)), folder_(std::move(folder)), report_(options, "ptx", "none") {}

  void run() {
    for (const Case& c : cases())
      for (const std::string& target : targets_)
        if (const std::string name = c.name + " " + target; options_.wants(name)) measure(c, target, name);
    report_.finish();
  }

 private:
  void measure(const Case& c, const std::string& target, const std::string& name) {
    tw::backend::CompileOptions options;
    options.target = target;
    options.num_warps = c.warps;
    std::vector<std::string> phases = {"total", "trace"};
    std::map<std::string, std::vector<double>> samples;
    tw::backend::CompiledKernel kernel;
    for (int i = 0; i <= options_.repeats; ++i) {
      const auto start = Clock::now();
      tw::ir::Function function = c.trace();
      const double trace_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      kernel = tw::backend::compile(std::move(function), options);
      const double total_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      if (i == 0) continue;  // the first of a process also starts LLVM
      samples["total"].push_back(total_ms);
      samples["trace"].push_back(trace_ms);
      for (const auto& [phase, ms] : kernel.timings) {
        if (!samples.contains(phase)) phases.push_back(phase);
        samples[phase].push_back(ms);
      }
    }
    std::vector<std::pair<std::string, double>> values;
    for (const std::string& phase : phases) values.emplace_back(phase + " ms", bench::summarise(samples[phase]).median);
    values.emplace_back("least total ms", bench::summarise(samples["total"]).least);
    values.emplace_back("PTX bytes", static_cast<double>(kernel.image.size()));
    report_.row(name, values);
    if (folder_.empty()) return;
    std::filesystem::create_directories(folder_);
    std::ofstream out(folder_ + "/" + c.name + "." + target + ".ptx", std::ios::binary);
    out.write(reinterpret_cast<const char*>(kernel.image.data()), static_cast<std::streamsize>(kernel.image.size()));
    out << "// shared " << kernel.resources.shared_bytes << " warps " << kernel.resources.num_warps << '\n';
  }

  bench::Options options_;
  std::vector<std::string> targets_;
  std::string folder_;
  bench::Report report_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> targets = {"sm_80", "sm_90a"};
  std::string folder;
  const auto options = bench::parse(
      argc, argv, "Latency of kernels up to PTX, by phase",
      {{"--target", "what to compile for; default: sm_80 sm_90a", &targets}, {"--ptx", "a folder for the PTX", nullptr, &folder}});
  try {
    PtxBench(options, targets, folder).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
