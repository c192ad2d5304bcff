// The memory that a run of a graph needs for given values of its symbols, and random numbers for it.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::detail {

/// The shape for these symbol values. Throws Error at the node's line if an extent is negative or not an integer.
std::vector<std::int64_t> shape_of(const graph::Graph&, graph::NodeId, const std::vector<std::int64_t>& symbols);

/// The number of elements that the buffer of an input needs: with strides, up to its last element; else all its elements.
std::int64_t span_of(const graph::Graph&, graph::NodeId, const std::vector<std::int64_t>& symbols);

/// Elements in memory: floats normally distributed, bools 0 or 1, integers from 0 to `most`.
std::vector<std::byte> random_elements(ir::Element, std::int64_t count, std::mt19937_64&, std::uint64_t most = 1);

}  // namespace tilewright::detail
