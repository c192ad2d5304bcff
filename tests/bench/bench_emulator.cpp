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
#include "runtime/emulator/driver/emulated_driver.h"
#include "runtime/emulator/machine/emulator.h"
#include "tests/bench/gpu_kernels.h"
#include "tests/bench/report.h"
#include "tests/bench/traced.h"

namespace {

namespace tw = tilewright;
using namespace tw::rt::emulator;
using namespace tw::rt::cuda;
using bench::Samples;

/// A kernel, its launch, and what is right in its result.
struct Case {
  std::string name;
  std::shared_ptr<LoadedModule> program;
  std::string target = "sm_80";
  std::array<u32, 3> grid, block;
  u64 shared_bytes = 0;
  std::vector<std::vector<std::byte>> arguments;
  double products = 0;          // multiply-adds of matrix instructions, which are worth many others
  std::function<void()> check;  // throws if the result is wrong
};

class EmulatorBench {
 public:
  explicit EmulatorBench(const bench::Options& options) : options_(options), report_(options, "emulator", "one thread") {}

  void run() {
    measure(softmax());
    measure(tensor_matmul());
    measure(wgmma_matmul());
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

  template <class... T>
  static std::vector<std::vector<std::byte>> arguments(const T&... values) {
    const auto bytes = [](const auto& value) {
      const auto* from = reinterpret_cast<const std::byte*>(&value);
      return std::vector<std::byte>(from, from + sizeof value);
    };
    return {bytes(values)...};
  }

  template <class F>
  static Case compiled(const std::string& name, F* kernel, const std::vector<int>& constants, int warps) {
    tw::backend::CompileOptions options;
    options.target = "sm_80";
    options.num_warps = warps;
    const auto made = tw::backend::compile(bench::traced(kernel, constants, 16), options);
    Case c;
    c.name = name;
    c.program = LoadedModule::load({reinterpret_cast<const char*>(made.image.data()), made.image.size()});
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
    c.arguments = arguments(address(out), address(x), kColumns, kColumns, kColumns);
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
    c.arguments = arguments(address(x), address(y), address(out), n, n, n, n, n, n);
    c.check = [=] {
      for (u32 i = 0; i < n; ++i) {
        double sum = 0;
        for (u32 k = 0; k < n; ++k) sum += double(x[i * n + k]) * y[k * n + i];
        expect(out[i * n + i], sum);
      }
    };
    return c;
  }

  static constexpr u32 kSize = 256;  // of the matrices that matrix instructions multiply

  struct Halves {
    std::span<const tw::f16> x, y;
    std::span<float> out;
  };

  /// A kernel of tests/ptx, one block for 128 by 128 elements, and its operands.
  Case matrix_case(const std::string& name, const std::string& file, Halves& operands) {
    Case c;
    c.name = name;
    std::ifstream in(TW_PTX_FILES "/" + file);
    c.program = LoadedModule::load(std::string(std::istreambuf_iterator<char>(in), {}), file);
    c.grid = {kSize / 128, kSize / 128, 1};
    c.products = double{kSize} * kSize * kSize;
    // Small integers, whose products and sums are exact.
    const auto halves = [&](int salt) {
      const u64 to = memory_.allocate(kSize * kSize * 2);
      for (u32 i = 0; i < kSize * kSize; ++i) {
        const tw::f16 value(static_cast<float>(static_cast<int>(i * 7 + i / kSize * 3 + static_cast<u32>(salt)) % 5 - 2));
        std::memcpy(reinterpret_cast<tw::f16*>(to) + i, &value, 2);
      }
      return std::span(reinterpret_cast<const tw::f16*>(to), kSize * kSize);
    };
    operands = {halves(0), halves(1), floats(kSize * kSize)};
    c.check = [=] {
      for (u32 i = 0; i < kSize; ++i)
        for (u32 j = i % 16; j < kSize; j += 16) {
          float sum = 0;
          for (u32 k = 0; k < kSize; ++k)
            sum += static_cast<float>(operands.x[i * kSize + k]) * static_cast<float>(operands.y[k * kSize + j]);
          expect(operands.out[i * kSize + j], sum);
        }
    };
    return c;
  }

  Case tensor_matmul() {
    Halves operands;
    Case c = matrix_case("mma.sync 256x256x256 f16", "tensor_matmul.ptx", operands);
    c.block = {128, 1, 1};
    c.arguments = arguments(operands.x.data(), operands.y.data(), operands.out.data(), kSize, kSize, kSize);
    return c;
  }

  Case wgmma_matmul() {
    Halves operands;
    Case c = matrix_case("wgmma 256x256x256 f16", "wgmma_matmul.ptx", operands);
    c.target = "sm_90a";
    c.block = {288, 1, 1};
    c.shared_bytes = 3 * 32768;
    const auto map_of = [](std::span<const tw::f16> matrix, u32 rows) {
      CUtensorMap map;
      const u64 extents[] = {kSize, kSize}, strides[] = {kSize * 2};
      const u32 box[] = {64, rows}, steps[] = {1, 1};
      auto* data = const_cast<tw::f16*>(matrix.data());
      if (emulated_driver().cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, data, extents, strides, box, steps,
                                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                                   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        throw std::runtime_error("the tensor map is wrong");
      return map;
    };
    c.arguments = arguments(map_of(operands.x, 128), map_of(operands.y, 64), operands.out.data(), kSize, kSize);
    return c;
  }

  void measure(const Case& c) {
    if (!options_.wants(c.name)) return;
    const Kernel& kernel = *c.program->kernels().front();
    std::vector<std::byte> params(kernel.parameter_bytes);
    for (std::size_t k = 0; k < kernel.parameters.size(); ++k)
      std::memcpy(params.data() + kernel.parameters[k].offset, c.arguments.at(k).data(), kernel.parameters[k].bytes);
    Counters counters;
    LaunchParams launch_params;
    launch_params.grid = c.grid;
    launch_params.block = c.block;
    launch_params.dynamic_shared_bytes = c.shared_bytes;
    launch_params.params = params;
    launch_params.target = c.target;
    launch_params.workers = 1;
    launch_params.counters = &counters;
    const auto run = [&] {
      if (!launch(*c.program, kernel.name, memory_, launch_params)) throw std::runtime_error(c.name + ": there are findings");
    };
    run();
    c.check();
    const auto executed = static_cast<double>(counters.of(kernel.name).total().executed);
    const double checked = bench::time_ms(options_.repeats, run).least;
    launch_params.check = false;
    const double unchecked = bench::time_ms(options_.repeats, run).least;
    std::vector<std::pair<std::string, double>> values = {{"warp instructions", executed},
                                                          {"ms", checked},
                                                          {"M/s", executed / checked / 1000},
                                                          {"ms without checks", unchecked},
                                                          {"M/s without checks", executed / unchecked / 1000}};
    if (c.products > 0) {
      values.emplace_back("G multiply-adds/s", c.products / checked / 1e6);
      values.emplace_back("G multiply-adds/s without checks", c.products / unchecked / 1e6);
    }
    report_.row(c.name, values);
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
