// Finds differences between a product and a maximum or minimum of such products. They are exact where the two are near each other, if both
// are rounded.
#pragma once
#include "passes/ir_names.h"

namespace tilewright::passes {

/// Whether v depends on a maximum or minimum of products: it is one of them, or a sum with one, in this block or carried by a loop. The
/// products must be tiles of this rank: in fma(x, s, -m) with m = max(x) s, the usual form of attention, m is a product of another rank.
bool is_chosen_among_products(const Function&, ValueId v, int rank);

}  // namespace tilewright::passes
