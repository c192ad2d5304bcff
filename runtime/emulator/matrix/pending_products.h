// Products of wgmma that follow each other into the same accumulators: added up together, which reads and writes these once.
#pragma once
#include <array>
#include <memory>
#include <span>

#include "runtime/emulator/matrix/columns.h"

namespace tilewright::rt::emulator {

/// Of a warp. The accumulators hold what they held before these products, and nobody is to see that: Instruction::may_pend.
class PendingProducts {
 public:
  struct Target {
    std::byte* registers;
    std::span<const s32> slots;  // of accumulators, as multiply_add() has them
    std::size_t depth;
  };

  /// The rows of the next product, which are to be filled ahead of add(). Products with another target are added up first, and all where
  /// this one does not add to them.
  RowsOfA& begin(const Target&, bool adds);
  void add(Columns columns);
  void add_up();
  /// The same if the registers are among those that the products go to.
  void add_up_into(std::span<const s32> slots);
  /// Forgets what has not been added up.
  void clear() { count_ = 0; }

 private:
  static constexpr std::size_t kMost = 4;
  struct Operands {
    RowsOfA a;
    Columns b;
  };

  Target target_{};
  bool adds_ = false;
  std::size_t count_ = 0;
  std::unique_ptr<std::array<Operands, kMost>> operands_;  // most warps have none
};

}  // namespace tilewright::rt::emulator
