// The nodes of a kernel as a user knows them: calls of functions with their lines.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tileir/graph/graph.h"
#include "tilewright/plan.h"

namespace tilewright::detail {

/// Parts of one composite function, as softmax, are named once, by the function; inputs and constants are left out.
std::vector<CoveredNode> named_nodes(const graph::Graph&, const std::vector<graph::NodeId>&);

/// The nodes that compute something; views, if there are only these.
std::vector<graph::NodeId> without_views(const graph::Graph&, const std::vector<graph::NodeId>&);

/// "[3, 2]".
std::string grid_text(const std::array<std::int64_t, 3>&);

/// "softmax.cpp:12", without folders.
std::string short_text(const Location&);

/// "1.5 KiB".
std::string bytes_text(double bytes);

}  // namespace tilewright::detail
