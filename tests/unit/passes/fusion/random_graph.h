// Random graphs over small tensors.
#pragma once
#include "tests/unit/passes/fusion/formula.h"

namespace tilewright::passes::fusion::test {

enum class RandomExtents : std::uint8_t { positive, some_zero };

/// Appends inputs, a number of random ops and one or two outputs. Values stay of moderate size, so that errors can be told from rounding;
/// but with extents of 0 maxima and means of nothing are not finite.
void random_graph(graph::Graph&, std::uint64_t seed, RandomExtents = RandomExtents::positive);

/// As above, but half of the ops are sums and differences of multiples of values by numbers that are not powers of two.
void random_graph_of_multiples(graph::Graph&, std::uint64_t seed);

/// One of these kinds of graphs by turns of the seed: positive extents, some extents of 0, multiples.
void random_graph_of_each_kind(graph::Graph&, std::uint64_t seed);

/// A random graph over all element types, with a symbol n: integers of their whole range, masks, conversions, fractions of symbols, constants of
/// any magnitude, several functions that combine. The least n is 0 for an odd seed.
void random_graph_of_all_types(graph::Graph&, std::uint64_t seed);

/// A random graph of constants and of tables, of any magnitude and in any type, and of ops on them. Each element of an output has the value of
/// the graph with each op in its type (Rounding::as_typed), but for the last digits of f32 and f64.
void random_graph_of_constants(graph::Graph&, std::uint64_t seed);

}  // namespace tilewright::passes::fusion::test
