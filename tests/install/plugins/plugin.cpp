// The plugin uses the library in two ways: with its own kernel, which lives as long as the plugin, and with functions of the kernel
// library.
#include <tilewright/kernels.h>

#include <cstdio>
#include <exception>

namespace tw = tilewright;

#ifndef LINKAGE
#define LINKAGE static
#endif

LINKAGE const auto& doubling() {
  static const tw::Kernel kernel("doubling", [](tw::Ptr<float> x, tw::I32 n) {
    auto i = tw::program_id(0) * 256 + tw::arange(0, 256);
    tw::store(x + i, tw::load(x + i, i < n) * 2.0f, i < n);
  });
  return kernel;
}

namespace {

bool is_right() {
  tw::Device device = tw::Device::open("cpu");
  // Enough programs to involve other threads.
  constexpr int kCount = 100'000;
  auto x = device.upload(std::vector<float>(kCount, 1.0f)), sums = device.allocate<float>(64 * 64);
  doubling()({.grid = (kCount + 255) / 256}, x, kCount);
  tw::kernels::scan(x, x, [](auto a, auto b) { return tw::maximum(a, b); }, 0.0f);
  const auto matrix = tw::view(x, {64, 64});
  tw::kernels::matmul(matrix, matrix, tw::view(sums, {64, 64}));
  return x.download() == std::vector<float>(kCount, 2.0f) && sums.download() == std::vector<float>(64 * 64, 256.0f);
}

}  // namespace

/// 0 if all results are right.
extern "C" __attribute__((visibility("default"))) int run_plugin() {
  try {
    return is_right() ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "plugin: %s\n", e.what());
    return 1;
  }
}
