// The nodes of a kernel in the terms of the user: calls of functions with their lines.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "passes/fusion/sequence/kernel_sequence.h"
#include "tileir/graph/graph.h"
#include "tilewright/plan.h"

namespace tilewright::detail {

/// The parts of a composite function, such as softmax, are named once, by the function. Inputs and constants are left out.
std::vector<CoveredNode> named_nodes(const graph::Graph&, const std::vector<graph::NodeId>&);

/// The nodes that compute something, grouped by line: "matmul x2, silu (block.cpp:54)". If all are views, lists the views.
std::vector<std::string> covered_texts(const graph::Graph&, const std::vector<graph::NodeId>&);

/// The content of a tensor between kernels: "softmax at block.cpp:41", "part of matmul at block.cpp:40". Requires that it has a source.
std::string source_text(const graph::Graph&, const passes::fusion::SequenceBuffer&);

/// "[3, 2]".
std::string grid_text(const std::array<std::int64_t, 3>&);

/// For example "softmax.cpp:12": without folders.
std::string short_text(const Location&);

}  // namespace tilewright::detail
