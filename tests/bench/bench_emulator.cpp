// How fast the emulator runs PTX: warp instructions a second in one thread, with all checks and without.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <stdexcept>

#include "backend/compile.h"
#include "runtime/emulator/emulator.h"
#include "tests/bench/gpu_kernels.h"
#include "tests/bench/report.h"
#include "tests/bench/traced.h"

namespace {

namespace tw = tilewright;
using namespace tw::rt::emulator;
using bench::Samples;

/// A kernel, its launch, and what is right in its result.
struct Case {
  std::string name;
  std::shared_ptr<Program> program;
  std::array<u32, 3> grid, block;
  u64 shared_bytes = 0;
  std::vector<u64> arguments;
  std::function<void()> check;  // throws if the result is wrong
};

class EmulatorBench {
 public:
  explicit EmulatorBench(const bench::Options& options) : options_(options), report_(options, "emulator", "one thread") {}

  void run() {
    measure(softmax());
    measure(tensor_matmul());
    measure(plain_matmul());
    report_.finish();
  }

 private:
  std::span<float> floats(std::size_t count) {
    const u64 address = memory_.allocate(count * sizeof(float));
    std::normal_distribution<float> draw;
    auto* values = reinterpret_cast<float*>(address);
    for (std::size_t i = 0; i < count; ++i) values[i] = draw(random_);
    return {values, count};
  }
  static u64 address(std::span<float> values) { return reinterpret_cast<u64>(values.data()); }

  template <class F>
  static Case compiled(const std::string& name, F* kernel, const std::vector<int>& constants, int warps) {
    tw::backend::CompileOptions options;
    options.target = "sm_80";
    options.num_warps = warps;
    const auto made = tw::backend::compile(bench::traced(kernel, constants, 16), options);
    Case c;
    c.name = name;
    c.program = Program::load({reinterpret_cast<const char*>(made.image.data()), made.image.size()});
    c.block = {static_cast<u32>(32 * warps), 1, 1};
    c.shared_bytes = static_cast<u64>(made.resources.shared_bytes);
    return c;
  }

  static void expect(float got, double want) {
    if (!(std::fabs(got - want) <= 1e-3 * (1 + std::fabs(want)))) throw std::runtime_error("the result is wrong");
  }

  Case softmax() {
    constexpr u32 kRows = 64, kColumns = 4096;
    Case c = compiled("softmax 64x4096", bench::gpu::softmax, {kColumns}, 8);
    const auto x = floats(kRows * kColumns), out = floats(kRows * kColumns);
    c.grid = {kRows, 1, 1};
    c.arguments = {address(out), address(x), kColumns, kColumns, kColumns};
    c.check = [=] {
      for (u32 row = 0; row < kRows; ++row) {
        double sum = 0;
        for (u32 i = 0; i < kColumns; ++i) sum += std::exp(x[row * kColumns + i]);
        expect(out[row * kColumns + row] * 1000, std::exp(x[row * kColumns + row]) / sum * 1000);
      }
    };
    return c;
  }

  Case plain_matmul() {
    constexpr u32 n = 256;
    Case c = compiled("matmul 256x256x256 f32", bench::gpu::matmul, {64, 64, 16}, 4);
    const auto x = floats(n * n), y = floats(n * n), out = floats(n * n);
    c.grid = {n / 64, n / 64, 1};
    c.arguments = {address(x), address(y), address(out), n, n, n, n, n, n};
    c.check = [=] {
      for (u32 i = 0; i < n; ++i) {
        double sum = 0;
        for (u32 k = 0; k < n; ++k) sum += double(x[i * n + k]) * y[k * n + i];
        expect(out[i * n + i], sum);
      }
    };
    return c;
  }

  Case tensor_matmul() {
    constexpr u32 n = 256;
    Case c;
    c.name = "mma 256x256x256 f16";
    std::ifstream in(TW_PTX_FILES "/tensor_matmul.ptx");
    c.program = Program::load(std::string(std::istreambuf_iterator<char>(in), {}), "tensor_matmul.ptx");
    c.grid = {n / 128, n / 128, 1};
    c.block = {128, 1, 1};
    // Small integers, whose products and sums are exact.
    const auto halves = [&](int salt) {
      const u64 to = memory_.allocate(n * n * 2);
      for (u32 i = 0; i < n * n; ++i) {
        const tw::f16 value(static_cast<float>(static_cast<int>(i * 7 + i / n * 3 + static_cast<u32>(salt)) % 5 - 2));
        std::memcpy(reinterpret_cast<tw::f16*>(to) + i, &value, 2);
      }
      return std::span(reinterpret_cast<const tw::f16*>(to), n * n);
    };
    const auto x = halves(0), y = halves(1);
    const auto out = floats(n * n);
    c.arguments = {reinterpret_cast<u64>(x.data()), reinterpret_cast<u64>(y.data()), address(out), n, n, n};
    c.check = [=] {
      for (u32 i = 0; i < n; ++i)
        for (u32 j = i % 16; j < n; j += 16) {
          float sum = 0;
          for (u32 k = 0; k < n; ++k) sum += static_cast<float>(x[i * n + k]) * static_cast<float>(y[k * n + j]);
          expect(out[i * n + j], sum);
        }
    };
    return c;
  }

  void measure(const Case& c) {
    if (!options_.wants(c.name)) return;
    const Kernel& kernel = *c.program->kernels().front();
    std::vector<std::byte> params(kernel.parameter_bytes);
    for (std::size_t k = 0; k < kernel.parameters.size(); ++k)
      std::memcpy(params.data() + kernel.parameters[k].offset, &c.arguments.at(k), kernel.parameters[k].bytes);
    Counters counters;
    LaunchParams launch_params;
    launch_params.grid = c.grid;
    launch_params.block = c.block;
    launch_params.dynamic_shared_bytes = c.shared_bytes;
    launch_params.params = params;
    launch_params.target = "sm_80";
    launch_params.workers = 1;
    launch_params.counters = &counters;
    const auto run = [&] {
      if (!launch(*c.program, kernel.name, memory_, launch_params)) throw std::runtime_error(c.name + ": there are findings");
    };
    run();
    c.check();
    const auto executed = static_cast<double>(counters.kernels.at(kernel.name).total().executed);
    const double checked = bench::time_ms(options_.repeats, run).least;
    launch_params.check = false;
    const double unchecked = bench::time_ms(options_.repeats, run).least;
    report_.row(c.name, {{"warp instructions", executed},
                         {"ms", checked},
                         {"M/s", executed / checked / 1000},
                         {"ms without checks", unchecked},
                         {"M/s without checks", executed / unchecked / 1000}});
  }

  bench::Options options_;
  bench::Report report_;
  Memory memory_;
  std::mt19937 random_{1};
};

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::parse(argc, argv, "Warp instructions a second of the emulator, in one thread");
  try {
    EmulatorBench(options).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
