// Appends nodes for one term to a graph: element-wise ops, and tensors with their axes in another order.
#pragma once
#include "passes/search/graph/graph_terms.h"
#include "tileir/graph/graph_builder.h"

namespace tilewright::passes::search {

/// A node whose axes have these labels.
struct LabelledNode {
  graph::NodeId node;
  Labels axes;
};

class NodeWriter {
 public:
  explicit NodeWriter(graph::Graph& to) : to_(to) {}

  /// The line and the composite that new nodes have.
  void begin(const Location& where, std::optional<std::uint32_t> composite) { where_ = where, composite_ = composite; }
  graph::NodeId add(graph::Node);
  const graph::TensorShape& shape(graph::NodeId n) const { return to_.node(n).shape; }
  graph::GraphBuilder builder() { return {to_, "search", where_, graph::kMaxRank}; }

  graph::NodeId map(ir::OpKind, std::vector<graph::NodeId>, ir::Element = {});
  // These return the node itself if nothing changes.
  graph::NodeId reshape(graph::NodeId, const graph::TensorShape&);
  graph::NodeId broadcast(graph::NodeId, const graph::TensorShape&);
  graph::NodeId permute(graph::NodeId, const std::vector<int>& axes);

  /// The axes in the order of `order`, with extents of 1 for labels that the tensor lacks, but for the first ones.
  graph::NodeId aligned(const LabelledNode&, const Labels& order);

 private:
  graph::Graph& to_;
  Location where_;
  std::optional<std::uint32_t> composite_;
};

}  // namespace tilewright::passes::search
