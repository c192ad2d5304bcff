// Random graphs over small tensors.
#pragma once
#include "tests/unit/passes/fusion/formula.h"

namespace tilewright::passes::fusion::test {

/// Appends inputs, a number of random ops and one or two outputs. Values stay of moderate size, so that errors can be told from rounding.
void random_graph(graph::Graph&, std::uint64_t seed);

}  // namespace tilewright::passes::fusion::test
