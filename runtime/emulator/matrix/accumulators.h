// The accumulators of products of 16 or 8 rows and 8 columns each, as mma and wgmma hold them in registers.
#pragma once
#include "runtime/emulator/matrix/product.h"
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

struct Accumulators {
  const s32 *slots, *before;  // of the registers that are written, and of those that products are added to
  std::size_t rows;
  Type type;  // f32, f16, which comes in pairs, or s32
  bool saturates;

  int per_register() const { return type == Type::f16 ? 2 : 1; }
  int per_lane() const { return static_cast<int>(rows * kColumns) / kLanes; }
  int registers() const { return per_lane() / per_register(); }  // 8 columns
};

/// Element e of a lane l is in row l / 4 + 8 (e / 2) and column 2 (l % 4) + e % 2. In the lanes of `adding`, products are added to what
/// there was before; lanes outside `mask` keep what they have. Sums of integers are exact, those of f16 are rounded once, from f32.
void accumulate(Warp&, const Accumulators&, Product, std::size_t blocks, std::size_t depth, Mask adding, Mask mask);

}  // namespace tilewright::rt::emulator
