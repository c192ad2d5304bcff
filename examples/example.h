// Code that all examples use: random inputs, the check against a double-precision reference, fair timing beside plain C++ and a memory
// copy, and one row of the demo's table.
#pragma once
#include <tilewright/tilewright.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace example {

/// --device NAME: which device, the best one if not given. --table FILE: append the row there. --quick: small sizes, for tests. --plan: of
/// examples with graphs, derive the kernels and run nothing.
struct Options {
  Options(int argc, char** argv);
  tilewright::Device open() const { return device.empty() ? tilewright::Device::open() : tilewright::Device::open(device); }

  std::string device, table;
  bool quick = false, plan = false;
};

/// Normally distributed numbers.
std::vector<float> normal(std::size_t count, unsigned seed, float scale = 1.0f);

/// Philox4x32-10 of (counter, 0, 0, 0), in plain C++: what tw::philox(seed, counter) gives.
std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint32_t counter);

/// Calls f(begin, end) on all cores, on parts of [0, count) that grow by no less than `grain`.
void parallel(int count, int grain, const std::function<void(int begin, int end)>& f);

/// One kernel beside its plain C++ form.
struct Case {
  std::string kernel, size;
  double bytes = 0;                   // moved at least, reads and writes; a row shows its rate as a share of a copy's
  double flops = 0;                   // if not 0, the row shows these instead, as a share of the cores' peak
  double tolerance;                   // limit of the relative L2 error
  std::function<void()> tile, plain;  // compute the result once; complete when they return
  std::function<std::vector<float>()> tile_result, plain_result;  // the results; NaN where nothing was written
  std::vector<double> want;
};

/// Checks both forms, times them, prints a row. The exit code: 0 if both results are right.
int report(const Options&, const tilewright::Device&, const Case&);

}  // namespace example
