// Packed panels of b (BLIS): operands b of wgmma as numbers, which the four warps of a warpgroup multiply by one after the other.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "runtime/emulator/matrix/product.h"
#include "runtime/emulator/shadow/shared_shadow.h"

namespace tilewright::rt::emulator {

struct PackedPanel {
  u64 issued = 0;  // which wgmma of the warpgroup, from 1
  u64 descriptor = 0;
  u32 instruction = 0;
  std::optional<EngineRead> read;  // where reads are checked, and another warp's read has nothing to report
  std::vector<ColumnsOfB> numbers;
};

/// Of the wgmma of a warpgroup that were issued last. Packed once for the four warps: packing and checking b takes as long as multiplying.
class PackedPanels {
 public:
  PackedPanel& at(u64 issued) { return last_[issued % last_.size()]; }
  /// For the next block; keeps the memory of the numbers.
  void forget() {
    for (PackedPanel& panel : last_) {
      panel.issued = 0;
      panel.read.reset();
    }
  }

 private:
  std::array<PackedPanel, 4> last_;
};

}  // namespace tilewright::rt::emulator
