// Random rewritings of a graph that keep its meaning over the real numbers.
#pragma once
#include "tests/unit/passes/fusion/formula.h"

namespace tilewright::passes::fusion::test {

/// Writes the same outputs to `to` in other ways: operands in other orders, divisions as products, permutes and reshapes there and back,
/// sums as products with ones, products as sums, copies of shared values.
void rewrite(const graph::Graph& from, graph::Graph& to, Variants&);

}  // namespace tilewright::passes::fusion::test
