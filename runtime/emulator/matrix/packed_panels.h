// Packed panels of b (BLIS): operands b of wgmma as numbers, by which the four warps of a warpgroup multiply one after another.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "runtime/emulator/matrix/product.h"
#include "runtime/emulator/shadow/shared_shadow.h"

namespace tilewright::rt::emulator {

struct PackedPanel {
  u64 issued = 0;  // number of the warpgroup's wgmma, from 1
  u64 descriptor = 0;
  u32 instruction = 0;
  std::optional<EngineRead> read;  // set if reads are checked and another warp's read has nothing to report
  std::vector<ColumnsOfB> numbers;
};

/// The panels of the warpgroup's latest wgmma. Packing and checking b takes as long as multiplying, so it is done once for four warps.
class PackedPanels {
 public:
  PackedPanel& at(u64 issued) { return last_[issued % last_.size()]; }
  /// Forgets the panels for the next block, but keeps their memory.
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
