// What a report says of a part of the graph that was rewritten.
#pragma once
#include <string>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::search {

/// A part of the graph that is computed in another way than it was written. Nodes are those of the whole graph.
struct Rewriting {
  std::string rule;           // names of rules, in the order of their use
  std::string before, after;  // formulas, in the user's names
  std::vector<graph::NodeId> covers;
  double saved_seconds = 0;
};

}  // namespace tilewright::passes::search
