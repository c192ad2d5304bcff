// Masks that hold for the first lanes of a row, as bounds checks do.
#pragma once
#include <vector>

#include "backend/host/nest.h"

namespace tilewright::backend::host {

struct PrefixMask {
  std::vector<ValueId> masks;  // the mask, then the values that it is the conjunction of
  Value* count;                // the mask holds for so many first lanes of the row, i64
  Value* end;                  // and for no lane from here on, i64; the same as `count`, but not in a row that begins below
                               // a lower bound, nor in one whose index wraps
};

/// i1: whether an index that counts up from `first`, `extent` times, passes the greatest value of its type and goes on at the least one.
/// `first` is extended to i64. Requires: the type is not u64.
Value* wraps(llvm::IRBuilder<>&, ir::Element, Value* first, std::int64_t extent);

/// The masks of the nest's loads and stores that are known to be such, each once, with code for their counts. None in checked mode.
std::vector<PrefixMask> prefix_masks(Nest&);

}  // namespace tilewright::backend::host
