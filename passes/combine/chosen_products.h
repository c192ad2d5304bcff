// Finds differences of a product from a maximum or minimum of such products: exact where the two are near to each other, if both are
// rounded.
#pragma once
#include "passes/ir_names.h"

namespace tilewright::passes {

/// Whether a maximum or minimum of products decides about v: it is one of them, or a sum with one, in this block or carried by a loop. The
/// products are tiles of this rank: in fma(x, s, -m) with m = max(x) s, the usual form of attention, m is no product of its kind.
bool is_chosen_among_products(const Function&, ValueId v, int rank);

}  // namespace tilewright::passes
