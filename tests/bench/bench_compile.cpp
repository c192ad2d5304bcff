// How long a kernel takes from a C++ function to machine code, by phase; how that grows with the tile; and what a launch costs after it.
#include <tilewright/tilewright.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "tests/bench/kernels.h"
#include "tests/bench/report.h"

namespace {

using namespace bench;

// What the kernels are compiled for: aligned pointers and sizes divisible by 16, the best case and the usual one.
auto in() { return tw::pointer<const float>(); }
auto out() { return tw::pointer<float>(); }
auto size() { return tw::scalar<std::int32_t>(16); }

class CompileBench {
 public:
  explicit CompileBench(const Options& options)
      : options_(options), device_(open_device(options.device)), report_(options, "compile", device_.name()) {}

  void run() {
    first_launch();
    for (int block : {256, 1024, 4096, 16384, 65536}) {
      measure("vector_add", block, [&] { return kernels_.vector_add.compile(target(), {}, in(), in(), out(), size(), block); });
      measure("softmax", block, [&] { return kernels_.softmax.compile(target(), {}, in(), out(), size(), block); });
      measure("layer_norm", block, [&] { return kernels_.layer_norm.compile(target(), {}, in(), in(), in(), out(), size(), block); });
    }
    for (int block : {16, 32, 64, 128}) {
      measure("matmul", block, [&] { return kernels_.matmul.compile(target(), {}, in(), in(), out(), size(), size(), size(), block); });
      measure("attention", block,
              [&] { return kernels_.attention.compile(target(), {}, in(), in(), in(), out(), size(), tw::scalar<float>(), block); });
    }
    warm_launch();
    report_.finish();
  }

 private:
  std::string target() const { return device_.name(); }

  /// Medians of each phase of `compile`, in the order in which they happen, and of the whole.
  template <class Compile>
  void measure(const std::string& kernel, int block, Compile&& compile) {
    const std::string name = kernel + " block " + std::to_string(block);
    if (!options_.wants(name)) return;
    compile();
    std::vector<tw::Compiled> runs;
    const Samples whole = time_ms(options_.repeats, [&] { runs.push_back(compile()); });
    std::vector<std::string> phases;
    std::map<std::string, std::vector<double>> samples;
    for (const tw::Compiled& run : runs)
      for (const auto& [phase, ms] : run.timings()) {
        if (!samples.contains(phase)) phases.push_back(phase);
        samples[phase].push_back(ms);
      }
    std::vector<std::pair<std::string, double>> values = {{"total ms", whole.median}};
    for (const std::string& phase : phases) {
      auto& s = samples[phase];
      std::nth_element(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(s.size() / 2), s.end());
      values.emplace_back(phase, s[s.size() / 2]);
    }
    report_.row(name, values);
  }

  /// All that a user waits for at the first launch of a process and at the first of each later kernel: compiling, loading, running.
  void first_launch() {
    if (!options_.wants("first launch")) return;
    auto x = device_.upload(std::vector<float>(4096, 1.0f)), y = device_.allocate<float>(4096);
    const auto launch = [&](int block) {
      return time_ms_once([&] {
        kernels_.softmax({.grid = 1}, x, y, 4000, block);
        device_.synchronize();
      });
    };
    report_.row("first launch, softmax", {{"first in process ms", launch(4096)}, {"next kernel ms", launch(8192)}});
  }

  template <class F>
  static double time_ms_once(F&& f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

  void warm_launch() {
    if (!options_.wants("warm launch")) return;
    constexpr int kLaunches = 10000;
    auto cell = device_.allocate<std::int32_t>(1);
    const Samples ms = time_ms(options_.repeats, [&] {
      for (int i = 0; i < kLaunches; ++i) kernels_.touch({.grid = 1}, cell);
      device_.synchronize();
    });
    report_.row("warm launch, grid 1", {{"us", 1e3 * ms.median / kLaunches}, {"least us", 1e3 * ms.least / kLaunches}});
  }

  Options options_;
  tw::Device device_;
  Report report_;
  Kernels kernels_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::parse(argc, argv, "Compile latency by phase and tile size, and the cost of a launch");
  try {
    CompileBench(options).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
