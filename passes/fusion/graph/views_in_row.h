// Counts views of views, such as reshapes and permutes in turn.
#pragma once
#include <cstddef>
#include <map>

#include "passes/fusion/thresholds.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

class ViewsInRow {
 public:
  /// Keeps the reference.
  explicit ViewsInRow(const graph::Graph& g) : g_(g) {}

  /// Nodes are visited once, operands first. Returns whether the node is the last of kViewsOfOperation views in a row, of which each reads the
  /// one before; the next view is the first of others.
  bool ends_at(graph::NodeId n) {
    if (!graph::is_view(g_.node(n).op)) return false;
    const auto before = views_.find(g_.node(n).operands[0]);
    std::size_t& views = views_[n];
    views = before == views_.end() ? 1 : before->second + 1;
    if (views < kViewsOfOperation) return false;
    views = 0;
    return true;
  }

 private:
  const graph::Graph& g_;
  std::map<graph::NodeId, std::size_t> views_;  // for each view: the number of views in a row up to it
};

}  // namespace tilewright::passes::fusion
