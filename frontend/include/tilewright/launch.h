// Launches: the grid, and options that affect the compilation.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>

#include "tilewright/device.h"

namespace tilewright {

/// 1 to 3 extents: 7, {7}, {7, 8}, {7, 8, 9}; at most 2^31 - 1, 65535 and 65535 on every device. The launch checks them.
class Grid {
 public:
  Grid() = default;
  template <detail::HostInteger I>
  Grid(I x) : extents_{Extent(x).value, 1, 1} {}
  Grid(std::initializer_list<Extent> extents) : rank_(extents.size()) {
    std::size_t axis = 0;
    for (Extent e : extents)
      if (axis < extents_.size()) extents_[axis++] = e.value;
  }
  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t axis) const { return extents_[axis]; }

 private:
  std::array<std::int64_t, 3> extents_{1, 1, 1};
  std::size_t rank_ = 1;
};

/// A device, or none.
class DeviceRef {
 public:
  DeviceRef() = default;
  DeviceRef(const Device& device) : device_(device.handle()) {}
  const std::shared_ptr<rt::Device>& handle() const { return device_; }

 private:
  std::shared_ptr<rt::Device> device_;
};

/// The grid and the options of a launch. Options are checked for every target; a target that does not need an option ignores it.
struct Launch {
  Grid grid = {};                      // without a grid, one program runs
  int num_warps = 4;                   // 1, 2, 4, 8, 16 or 32
  std::optional<int> num_stages = {};  // 1 to 8; the default depends on the target
  StreamRef stream = {};               // default: the device's own stream
  DeviceRef device = {};               // needed only if no argument and no stream has a device
  bool check = false;                  // checked mode: assertions, hints, indices, and accesses outside of buffers
  bool contract = true;                // a * b + c may become a fused multiply-add
};

}  // namespace tilewright
