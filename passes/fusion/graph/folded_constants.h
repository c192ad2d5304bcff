// Folds the values of a graph that depend on constants alone, as the interpreter computes them: with the range and the rounding of each
// node's type.
//
//   x * cast<f32>(cast<f16>(70000))         becomes   x * inf
//   cast<f16>(where(m, 0, -1e9))            becomes   where(m, 0, -inf)
//   x * cast<f32>(cast<bf16>(sum(ones[257]))) becomes x * 256
//
// Formulas have exact numbers, and roundings may move; an overflow or an underflow must not. So a node that depends on constants alone
// (constant_values.h) is folded where its type decides on its value: casts, integers and conditions of rounded floats, floats of 8 and 16 bits,
// and results that are not finite, 0, or below the least normal number. Other results of f32 and f64 stay as they are written, since formulas
// know more of them: 1 / 3 is a fraction, sqrt(2) a root. A table takes the place of a node only if a type decides on one of its elements. A
// cast to a float moves through ops that choose, move or cast elements to the constants that the float cannot hold.
#pragma once
#include <optional>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// The graph with folded constants, of the same inputs and outputs; none if nothing is folded.
std::optional<graph::Graph> with_folded_constants(const graph::Graph&);

}  // namespace tilewright::passes::fusion
