// The places of a tile's elements, one each, as pictures show them.
#pragma once
#include <array>
#include <optional>

#include "tileir/layout/f2_span.h"
#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// Hardware coordinates by dimension.
using HardwareCoordinate = std::array<std::uint32_t, kHardwareDims>;

class ElementCoordinates {
 public:
  explicit ElementCoordinates(const LinearLayout&);
  /// Where an element is, with free bits 0; none if nobody holds it.
  std::optional<HardwareCoordinate> operator()(std::uint32_t flat) const;
  /// log2 of how many neighbours along the last axis stand in consecutive registers or offsets, wherever they begin.
  int log2_run() const { return log2_run_; }
  bool in_memory() const { return in_memory_; }
  /// "w0 l12 r3": without the dimensions that the layout does not have; `length` neighbours from the coordinate on. Of memory the offset.
  std::string text(const HardwareCoordinate&, std::uint32_t length) const;

 private:
  F2Span span_;
  std::array<int, kHardwareDims> bits_{};
  int log2_run_ = 0;
  bool in_memory_ = false;
};

}  // namespace tilewright::ir
