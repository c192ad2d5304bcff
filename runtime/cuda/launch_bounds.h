// Checked mode of one launch on a CUDA device: what the kernel is told of the device's buffers, and what it found.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/compiled_kernel.h"
#include "runtime/bounds_check.h"
#include "runtime/cuda/device_memory.h"

namespace tilewright::rt::cuda {

/// What site numbers of one kernel mean. Null: nobody checks its accesses.
using AccessSites = std::shared_ptr<const std::vector<backend::AccessSite>>;

/// Made before the launch, on its stream, and asked behind it.
class LaunchBounds {
 public:
  struct Launch {
    const std::string& kernel;
    const AccessSites& sites;
    std::span<const std::uint64_t> arguments;
    CUstream stream;
    const Here& where;
  };
  /// `live`: MemoryRegistry::snapshot. The context is current.
  LaunchBounds(Context&, DeviceMemory&, std::vector<Region> live, const Launch&);
  ~LaunchBounds();
  LaunchBounds(const LaunchBounds&) = delete;
  LaunchBounds& operator=(const LaunchBounds&) = delete;

  /// A backend::NvptxBounds.
  CUdeviceptr address() const { return table_; }
  /// Waits for the stream. Throws Error for what the kernel found.
  void finish();

 private:
  Context& context_;
  DeviceMemory& memory_;
  const Launch launch_;
  BoundsCheck check_;
  std::vector<std::uint64_t> words_;  // of the table; copies from here may be under way until the stream has been waited for
  CUdeviceptr table_ = 0;
};

}  // namespace tilewright::rt::cuda
