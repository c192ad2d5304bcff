// The (kernel, shape) pairs whose configurations are searched, and what a pair launches.
#pragma once
#include <tilewright/kernels.h>
#include <tilewright/tilewright.h>

#include <functional>
#include <string>
#include <vector>

namespace bench {

namespace tw = tilewright;
namespace kernels = tilewright::kernels;

/// A launch is ready to run: its arrays are on the device.
using Launcher = std::function<void(const kernels::Options&)>;

struct TuningPair {
  std::string name;  // the first word is the function's
  std::function<Launcher(const tw::Device&)> prepare;
};

/// `is_small`: shapes that an emulator runs in a fraction of a second.
std::vector<TuningPair> tuning_pairs(bool is_small);
/// Products of f32, square, flat and narrow ones.
std::vector<TuningPair> product_pairs();

}  // namespace bench
