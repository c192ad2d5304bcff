// Appends the node of a class to a graph, once the classes of its operands have nodes.
#pragma once
#include <map>

#include "passes/search/graph/node_writer.h"
#include "passes/search/graph/written_op.h"

namespace tilewright::passes::search {

class OpWriter {
 public:
  /// Keeps the references. nodes: of classes, whose axes are the slots of the class.
  OpWriter(const GraphTerms& all, const Choice& choice, NodeWriter& writer, const std::map<int, graph::NodeId>& nodes)
      : all_(all), choice_(choice), writer_(writer), nodes_(nodes) {}

  /// Requires: the op is not a leaf.
  LabelledNode write(int root, const WrittenOp&);

 private:
  LabelledNode operand(const Ref& r) const { return {nodes_.at(r.term), r.labels}; }
  graph::TensorShape shape(int root) const;
  LabelledNode along(const Member&, graph::Op, std::vector<graph::NodeId> operands, std::vector<Dim> lengths);
  LabelledNode slice(const Member&, const WrittenOp&);
  LabelledNode view(const Member&, graph::NodeId);
  LabelledNode einsum(const Member&, const WrittenOp&);
  LabelledNode reduce(const Member&, const WrittenOp&);
  LabelledNode without_ones(const Member&, const WrittenOp&);
  bool is_merged(int root) const;

  const GraphTerms& all_;
  const Choice& choice_;
  NodeWriter& writer_;
  const std::map<int, graph::NodeId>& nodes_;
  std::map<int, graph::NodeId>
      in_memory_;  // by class, if parts of it are read: its node, which is in memory if the class is a merged product
};

}  // namespace tilewright::passes::search
