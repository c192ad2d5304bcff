// Masks that hold for the first lanes of a row, such as those of bounds checks.
#pragma once
#include <vector>

#include "backend/host/nest.h"

namespace tilewright::backend::host {

struct PrefixMask {
  std::vector<ValueId> masks;  // the mask, then the values whose conjunction it is
  Value* count;                // the number of first lanes of the row for which the mask holds, i64
  Value* end;                  // the mask holds for no lane from here on, i64; equals `count` unless the row begins below a lower bound or
                               // its index wraps
};

/// The number of first indices of the nest's last dimension for which a comparison of integers holds, from 0 to the extent: the index that
/// it compares counts up along the dimension, and the bound is constant along it. `dims`: the dimensions that the axes of its operands run
/// along. Requires: the index does not wrap.
Value* lanes_before_bound(Nest&, OpId comparison, const AxisMap& dims);

/// i1: whether an index that counts up from `first`, `extent` times, passes the greatest value of its type and continues at the least
/// value. `first` is extended to i64. Requires: the type is not u64.
Value* wraps(llvm::IRBuilder<>&, ir::Element, Value* first, std::int64_t extent);

/// The masks of the nest's accesses that are known to hold for a prefix, each once, with code for their counts. None in checked mode.
std::vector<PrefixMask> prefix_masks(Nest&);

}  // namespace tilewright::backend::host
