// The accumulators of products, of 16 or 8 rows and 8 columns each, in the register layout of mma and wgmma.
#pragma once
#include "runtime/emulator/matrix/product.h"
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

struct Accumulators {
  const s32 *slots, *before;  // registers that are written, and registers to which products are added
  std::size_t rows;
  Type type;  // f32, f16 (in pairs) or s32
  bool saturates;
  bool are_brief = false;  // multiply_add_briefly

  int per_register() const { return type == Type::f16 ? 2 : 1; }
  int per_lane() const { return static_cast<int>(rows * kColumns) / kLanes; }
  int registers() const { return per_lane() / per_register(); }  // for 8 columns
};

/// Element e of lane l is in row l / 4 + 8 (e / 2) and column 2 (l % 4) + e % 2. In the lanes of `adding`, products are added to the
/// previous sums; lanes outside of `mask` keep their values. Sums of integers are exact; sums of f16 are computed in f32 and rounded once.
void accumulate(Warp&, const Accumulators&, Product, std::size_t blocks, std::size_t depth, Mask adding, Mask mask);

}  // namespace tilewright::rt::emulator
