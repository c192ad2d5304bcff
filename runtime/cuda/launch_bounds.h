// The bounds check of one launch on a CUDA device in checked mode: passes a table of live buffers to the kernel and reads its reports.
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

/// The access sites of one kernel, indexed by number. Null: its accesses are not checked.
using AccessSites = std::shared_ptr<const std::vector<backend::AccessSite>>;

/// Construct it before the launch, on the launch's stream, and call finish() after the launch.
class LaunchBounds {
 public:
  struct Launch {
    const std::string& kernel;
    const AccessSites& sites;
    std::span<const std::uint64_t> arguments;
    CUstream stream;
    const Here& where;
  };
  /// `live`: MemoryRegistry::snapshot. Requires: the context is current.
  LaunchBounds(Context&, DeviceMemory&, std::vector<Region> live, const Launch&);
  ~LaunchBounds();
  LaunchBounds(const LaunchBounds&) = delete;
  LaunchBounds& operator=(const LaunchBounds&) = delete;

  /// The device address of a backend::NvptxBounds.
  CUdeviceptr address() const { return table_; }
  /// Waits for the stream. Throws Error if the kernel found a bad access.
  void finish();

 private:
  Context& context_;
  DeviceMemory& memory_;
  const Launch launch_;
  BoundsCheck check_;
  std::vector<std::uint64_t> words_;  // the table; its copy to the device may be unfinished until the stream has been waited for
  CUdeviceptr table_ = 0;
};

}  // namespace tilewright::rt::cuda
