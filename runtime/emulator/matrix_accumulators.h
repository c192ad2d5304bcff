// The accumulators of a product of 16 or 8 rows and 8 columns, as mma and wgmma hold them in registers.
#pragma once
#include "runtime/emulator/lanes.h"
#include "runtime/emulator/matrix_product.h"

namespace tilewright::rt::emulator {

struct Accumulators {
  const s32 *slots, *before;  // of the registers that are written, and of those that the sums are added to
  std::size_t rows;
  Type type;  // of elements; f16 comes in pairs

  int bits_of_register() const { return type == Type::f64 ? 64 : 32; }
  int per_register() const { return type == Type::f16 ? 2 : 1; }
  int per_lane() const { return static_cast<int>(rows * kColumns) / kLanes; }
  int registers() const { return per_lane() / per_register(); }
};

/// Element e of a lane l is in row l / 4 + 8 (e / 2) and column 2 (l % 4) + e % 2. In the lanes of `adding`, sums are added to what there
/// was before; lanes outside `mask` keep what they have.
void accumulate(Warp&, const Accumulators&, const ProductSums&, bool saturates, Mask adding, Mask mask);

}  // namespace tilewright::rt::emulator
