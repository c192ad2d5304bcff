// The parameters of one launch: its arguments, and behind them those that the host makes by the kernel's plan (backend/launch_recipe.h).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/cuda/cuda_kernel.h"
#include "runtime/device.h"

namespace tilewright::rt::cuda {

/// What launches and nodes of graphs pass alike. Allocates nothing.
class LaunchParameters {
 public:
  /// Throws Error at the user's line if the plan has no launch for these arguments, DeviceError if the driver encodes no tensor map of
  /// them. Requires: the context is current. The arguments outlive it.
  LaunchParameters(const CudaKernel&, std::span<const std::uint64_t> arguments, const LaunchConfig&);
  LaunchParameters(const LaunchParameters&) = delete;
  LaunchParameters& operator=(const LaunchParameters&) = delete;

  /// One more, which the caller may change until the launch.
  void add(CUdeviceptr& word) { pointers_[count_++] = &word; }
  /// As the driver takes them.
  void** get() { return pointers_; }
  /// The programs that are launched.
  const std::array<std::int32_t, 3>& grid() const { return grid_; }

 private:
  void set_programs(std::size_t axis, int step, std::span<const std::int64_t> numbers);
  void make(const CudaKernel&, std::span<const std::uint64_t> arguments, const Here& where);

  std::size_t count_ = 0;
  std::array<std::int32_t, 3> grid_;
  void* pointers_[kMostParameters];
  alignas(CUtensorMap) std::byte made_[backend::kMostParameterBytes];  // by the plan
};

}  // namespace tilewright::rt::cuda
