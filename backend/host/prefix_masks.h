// Masks that hold for the first lanes of a row and no others, as bounds checks do.
#pragma once
#include <vector>

#include "backend/host/nest.h"

namespace tilewright::backend::host {

struct PrefixMask {
  std::vector<ValueId> masks;  // the mask, then the values that it is the conjunction of
  Value* count;                // lanes of the row for which it holds, i64; they are its first ones
};

/// The masks of the nest's loads and stores that are known to be such, each once, with code for their counts. None in checked mode.
std::vector<PrefixMask> prefix_masks(Nest&);

}  // namespace tilewright::backend::host
