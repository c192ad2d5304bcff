// The nodes of a kernel as a user knows them: calls of functions with their lines.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "passes/fusion/program/program.h"
#include "tileir/graph/graph.h"
#include "tilewright/plan.h"

namespace tilewright::detail {

/// Parts of one composite function, as softmax, are named once, by the function; inputs and constants are left out.
std::vector<CoveredNode> named_nodes(const graph::Graph&, const std::vector<graph::NodeId>&);

/// What nodes compute something, by lines: "matmul x2, silu (block.cpp:54)". Views count if there are only these.
std::vector<std::string> covered_texts(const graph::Graph&, const std::vector<graph::NodeId>&);

/// Of what a tensor between kernels holds: "softmax at block.cpp:41", "part of matmul at block.cpp:40". Requires: it has a source.
std::string source_text(const graph::Graph&, const passes::fusion::ProgramBuffer&);

/// "[3, 2]".
std::string grid_text(const std::array<std::int64_t, 3>&);

/// "softmax.cpp:12", without folders.
std::string short_text(const Location&);

}  // namespace tilewright::detail
