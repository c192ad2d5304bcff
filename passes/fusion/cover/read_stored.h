// Reads a stored value wherever an output has it: computed again, it might be rounded in another way, and y - max(y) would not be 0 at the
// maximum.
#pragma once
#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/expr/products.h"

namespace tilewright::passes::fusion {

/// `stored`: loads of values, some of which the output reads already. Operands of products are left as they are: alternatives differ in what
/// they store of them.
Expr read_stored(ExprBuilder&, ContainedReductions& held, Expr output, const ExprMap& stored);

/// The output, with each reduction over more axes than a stored one of the same elements computed from the stored one: the mean of the rows of
/// a stored product adds up these rows, and does not compute the product again.
Expr reduce_stored(ExprBuilder&, ContainedReductions& held, Expr output, const ExprMap& stored);

}  // namespace tilewright::passes::fusion
