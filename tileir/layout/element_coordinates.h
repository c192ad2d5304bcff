// Finds the hardware coordinate that holds each element of a tile, one for each element, for pictures of layouts.
#pragma once
#include <array>
#include <optional>

#include "tileir/layout/f2_span.h"
#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// A register, lane, warp and block, or an offset, indexed by HardwareDim.
using HardwareCoordinate = std::array<std::uint32_t, kHardwareDims>;

class ElementCoordinates {
 public:
  explicit ElementCoordinates(const LinearLayout&);
  /// The coordinate with all free bits 0 that holds the element of this flat index; none if no coordinate does.
  std::optional<HardwareCoordinate> operator()(std::uint32_t flat) const;
  /// log2 of how many neighbours along the last axis are in consecutive registers or offsets.
  int log2_run() const { return log2_run_; }
  bool in_memory() const { return in_memory_; }
  /// "w0 l12 r3-6" for `length` neighbours that start here; dimensions without bits are left out. For shared memory it gives the offsets.
  std::string text(const HardwareCoordinate&, std::uint32_t length) const;

 private:
  F2Span span_;
  std::array<int, kHardwareDims> bits_{};
  int log2_run_ = 0;
  bool in_memory_ = false;
};

}  // namespace tilewright::ir
