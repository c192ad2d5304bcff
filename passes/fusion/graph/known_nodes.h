// Finds the values that depend on parameters and constants alone: they can be computed before a run.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// The nodes of a graph that are known before a run.
class KnownNodes {
 public:
  explicit KnownNodes(const graph::Graph&);
  /// Whether the value depends only on parameters and constants.
  bool is_known(graph::NodeId n) const { return known_[n.index]; }
  /// Whether all symbols of an extent occur in shapes of parameters. The values of others may change between runs while parameters stay.
  bool is_fixed(const Dim&) const;

 private:
  std::vector<bool> known_;
  std::set<std::uint32_t> symbols_;
};

}  // namespace tilewright::passes::fusion
