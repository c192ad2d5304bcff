// The parameters of one launch: its arguments, followed by those that the host computes by the kernel's plan (backend/launch_recipe.h).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/cuda/cuda_kernel.h"
#include "runtime/device.h"

namespace tilewright::rt::cuda {

/// The parameters of a launch or of a graph node. Allocates nothing.
class LaunchParameters {
 public:
  /// Throws Error at the user's line if the plan rejects these arguments, DeviceError if the driver cannot encode a tensor map for them.
  /// Requires: the context is current. The arguments must outlive this object.
  LaunchParameters(const CudaKernel&, std::span<const std::uint64_t> arguments, const LaunchConfig&);
  LaunchParameters(const LaunchParameters&) = delete;
  LaunchParameters& operator=(const LaunchParameters&) = delete;

  /// Appends a parameter, which the caller may change until the launch.
  void add(CUdeviceptr& word) { pointers_[count_++] = &word; }
  /// The parameters in the form that the driver takes.
  void** get() { return pointers_; }
  /// The number of programs along each axis.
  const std::array<std::int32_t, 3>& grid() const { return grid_; }

 private:
  void set_programs(std::size_t axis, int step, std::span<const std::int64_t> numbers);
  void make(const CudaKernel&, std::span<const std::uint64_t> arguments, const Here& where);

  std::size_t count_ = 0;
  std::array<std::int32_t, 3> grid_;
  void* pointers_[kMostParameters];
  alignas(CUtensorMap) std::byte made_[backend::kMostParameterBytes];  // values computed by the plan
};

}  // namespace tilewright::rt::cuda
