// Masks that hold for the first lanes of a row, as bounds checks do.
#pragma once
#include <vector>

#include "backend/host/nest.h"

namespace tilewright::backend::host {

struct PrefixMask {
  std::vector<ValueId> masks;  // the mask, then the values that it is the conjunction of
  Value* count;                // the mask holds for so many first lanes of the row, i64
  Value* end;                  // and for no lane from here on, i64; the same as `count` but for a row that begins below a lower bound or that wraps
};

/// i1: whether `extent` indices that count up from `first`, modulo 2^bits of their type, pass its greatest value and begin again at the least.
/// `first` is extended to i64. Requires: the type is not u64.
Value* wraps(llvm::IRBuilder<>&, ir::Element, Value* first, std::int64_t extent);

/// The masks of the nest's loads and stores that are known to be such, each once, with code for their counts. None in checked mode.
std::vector<PrefixMask> prefix_masks(Nest&);

}  // namespace tilewright::backend::host
