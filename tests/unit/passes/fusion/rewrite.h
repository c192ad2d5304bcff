// Random rewritings of a graph that keep its meaning over the real numbers.
#pragma once
#include <optional>

#include "tests/unit/passes/fusion/formula.h"

namespace tilewright::passes::fusion::test {

/// Writes the same outputs to `to` in other ways: operands in other orders, divisions as products, permutes and reshapes there and back,
/// sums as products with ones, products as sums, copies of shared values. Products of f32 get the precision, if one is given; those of
/// another one than `ieee` are not written as sums, which would multiply more exactly.
void rewrite(const graph::Graph& from, graph::Graph& to, Variants&, std::optional<graph::ProductPrecision> = {});

}  // namespace tilewright::passes::fusion::test
