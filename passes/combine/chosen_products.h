// Finds differences between a product and a maximum or minimum of such products. They are exact where the two are near each other, if both
// are rounded.
#pragma once
#include "passes/ir_names.h"

namespace tilewright::passes {

/// Whether v depends on a maximum or minimum of products: it is one of them, or a sum with one, in this block or carried by a loop. The
/// products must be tiles of this rank: in fma(x, s, -m) with m = max(x) s, the usual form of attention, m is a product of another rank.
bool is_chosen_among_products(const Function&, ValueId v, int rank);

/// Whether an element of v may be the product, so that it cancels in product - v or, if `is_sum`, its negative in product + v: through
/// choices, changes of sign and roundings to integers.
bool may_cancel(const Function&, ValueId v, ValueId product, bool is_sum);

}  // namespace tilewright::passes
