// Writes classes, operands first.
#include "passes/search/graph/terms_to_graph.h"

#include <algorithm>
#include <map>

#include "passes/search/graph/kept_nodes.h"
#include "passes/search/graph/op_writer.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::search {
namespace {

using graph::NodeId;
using Kind = WrittenOp::Kind;

class Writing {
 public:
  /// `to` has a node for each node of `copies`.
  Writing(const graph::Graph& written, const GraphTerms& all, const Choice& choice, graph::Graph& to, std::map<NodeId, NodeId> copies)
      : written_(written),
        all_(all),
        choice_(choice),
        writer_(to),
        to_(to),
        copies_(std::move(copies)),
        is_kept_(kept_nodes(written, all, choice)) {
    for (std::uint32_t i = 0; i < written.size(); ++i)
      if (is_kept_[i] && !graph::is_leaf(written.node({i}).op) && has_all_parts({i})) kept_.emplace(root_of({i}), NodeId{i});
  }

  /// The tensor of a value of the graph as it was written.
  NodeId value(NodeId n) {
    if (!is_kept_[n.index]) write(root_of(n));
    return tensor(n);
  }
  /// A term with its axes in the order of their labels.
  NodeId term(const Ref& r) {
    const Ref found = choice_.source.find(r);
    write(found.term);
    Labels order = found.labels;
    std::sort(order.begin(), order.end());
    return writer_.aligned({nodes_.at(found.term), found.labels}, order);
  }

 private:
  int root_of(NodeId n) const { return choice_.source.find(all_.values[n.index]->ref).term; }

  // ---- classes, by a stack, since a graph may be as deep as it has nodes ----

  void write(int root) {
    std::vector<int> stack = {root};
    while (!stack.empty()) {
      const int at = stack.back();
      if (nodes_.contains(at)) {
        stack.pop_back();
        continue;
      }
      if (const auto kept = kept_.find(at); kept != kept_.end()) {
        stack.pop_back();
        nodes_.emplace(at, slots_of_kept(kept->second));
        continue;
      }
      const auto [known, is_new] = ops_.try_emplace(at);
      if (is_new) known->second = written_op(all_, choice_, at);
      const std::size_t before = stack.size();
      for (int operand : operands(at, known->second))
        if (!nodes_.contains(operand)) {
          TW_CHECK(is_new, "a class is chosen to be computed from itself");
          stack.push_back(operand);
        }
      if (stack.size() > before) continue;
      stack.pop_back();
      nodes_.emplace(at, node_of(at, known->second));
    }
  }

  // ---- nodes that are kept ----

  /// Whether a node is not broadcast along any part of its axes.
  bool has_all_parts(NodeId n) const {
    std::size_t parts = 0;
    for (const std::vector<Extent>& axis : all_.values[n.index]->layout.axes) parts += axis.size();
    return static_cast<std::size_t>(all_.values[n.index]->ref.labels.size()) == parts;
  }

  /// A copy of a node that is kept, with the axes of its class.
  NodeId slots_of_kept(NodeId n) {
    const Value& value = *all_.values[n.index];
    const NodeId own = copied(n);
    LabelledNode parts{own, {}};
    graph::TensorShape shape;
    for (const std::vector<Extent>& axis : value.layout.axes)
      for (Extent part : axis) {
        parts.axes.push_back(static_cast<Label>(shape.size()));
        shape.push_back(all_.dim(part));
      }
    writer_.begin(written_.node(n).where, written_.node(n).composite);
    parts.node = writer_.reshape(own, shape);
    return writer_.aligned(parts, choice_.source.find(value.ref).labels);
  }

  /// A copy of a node that is kept, as it was written.
  NodeId copied(NodeId result) {
    for (NodeId from : not_copied(result)) {
      graph::Node n = written_.node(from);
      for (NodeId& x : n.operands) x = copies_.at(x);
      if (n.combiner.valid()) n.combiner = function(n.combiner);
      copies_[from] = to_.append(std::move(n));
    }
    return copies_.at(result);
  }

  std::vector<NodeId> not_copied(NodeId result) const {
    return nodes_down_to(written_, result, [&](NodeId n) { return copies_.contains(n); });
  }

  std::vector<int> operands(int root, const WrittenOp& op) const {
    std::vector<int> all;
    for (const Ref& r : op.operands) all.push_back(r.term);
    if (op.kind != Kind::leaf) return all;
    if (const Leaf& leaf = leaf_of(root); leaf.kind == Leaf::Kind::node && !copies_.contains(leaf.node))
      for (NodeId x : written_.node(leaf.node).operands) all.push_back(root_of(x));
    return all;
  }
  const Leaf& leaf_of(int root) const { return *all_.leaf(choice_.member(root).node); }

  /// A node whose axes are the slots of the class.
  NodeId node_of(int root, const WrittenOp& op) {
    const NodeId origin = all_.origins[static_cast<std::size_t>(root)];
    const graph::Node& from = written_.node(origin);
    writer_.begin(from.where, from.composite);
    const std::size_t before = to_.size();
    const Member& m = choice_.member(root);
    const LabelledNode made = make(root, m, op);
    const NodeId node = writer_.aligned(made, m.slots);
    if (node.index >= before && !from.name.empty() && root_of(origin) == root) to_.set_name(node, from.name);
    return node;
  }

  LabelledNode make(int root, const Member& m, const WrittenOp& op) { return op.kind == Kind::leaf ? leaf(m) : op_writer_.write(root, op); }

  // ---- leaves ----

  LabelledNode leaf(const Member& m) {
    const Leaf& leaf = *all_.leaf(m.node);
    const ir::Element e = m.node.element;
    LabelledNode made;
    graph::TensorShape parts;
    Dim extent = 1;
    for (const std::vector<Extent>& axis : leaf.layout.axes)
      for (Extent part : axis) {
        made.axes.push_back(static_cast<Label>(parts.size()));
        parts.push_back(all_.dim(part));
        extent = extent * all_.dim(part);
      }
    switch (leaf.kind) {
      case Leaf::Kind::number: made.node = writer_.builder().constant(e, {}, {leaf.bits}); break;
      case Leaf::Kind::ones: made.node = writer_.broadcast(writer_.builder().number(e, 1.0), parts); break;
      case Leaf::Kind::iota: made.node = writer_.reshape(writer_.builder().iota(e, {extent}, 0), parts); break;
      case Leaf::Kind::node: made.node = writer_.reshape(copy(leaf.node), parts); break;
    }
    return made;
  }

  /// A node of the graph as it was written, with operands written anew.
  NodeId copy(NodeId from) {
    if (const auto known = copies_.find(from); known != copies_.end()) return known->second;
    graph::Node n = written_.node(from);
    for (NodeId& x : n.operands) {
      x = tensor(x);
      // A kernel of the user reads memory: what is not a tensor in row-major order there is copied.
      const graph::Node& made = to_.node(x);
      const bool is_in_memory = !graph::is_leaf(made.op) || (made.op == graph::Op::input && made.lengths.empty());
      if (n.op != graph::Op::call || is_in_memory) continue;
      graph::Node copied;
      copied.op = graph::Op::broadcast;
      copied.operands = {x};
      copied.shape = made.shape;
      x = writer_.add(std::move(copied));
    }
    if (n.combiner.valid()) n.combiner = function(n.combiner);
    n.name.clear();
    const NodeId made = writer_.add(std::move(n));
    copies_[from] = made;
    return made;
  }

  /// The function of a reduction: nodes of scalars, of which operands come first.
  NodeId function(NodeId result) {
    for (NodeId from : not_copied(result)) {
      graph::Node n = written_.node(from);
      for (NodeId& x : n.operands) x = copies_.at(x);
      copies_[from] = writer_.add(std::move(n));
    }
    return copies_.at(result);
  }

  // ---- tensors ----

  /// The value of a node in its own shape. Requires: its class is written.
  NodeId tensor(NodeId n) {
    if (const auto known = tensors_.find(n); known != tensors_.end()) return known->second;
    if (is_kept_[n.index]) return tensors_[n] = copied(n);
    const Value& value = *all_.values[n.index];
    const Ref r = choice_.source.find(value.ref);
    const graph::TensorShape& shape = written_.node(n).shape;
    Labels order;
    graph::TensorShape parts;
    graph::TensorShape narrow;        // the shape with extents of 1 for axes that the term lacks
    graph::TensorShape narrow_parts;  // the same of the parts
    bool is_whole = true;             // each axis has all parts or none
    for (const std::vector<Extent>& axis : value.layout.axes) {
      std::size_t had = 0;
      for (Extent part : axis) {
        const auto label = static_cast<Label>(order.size());
        const bool is_had = r.labels.slot_of(label) >= 0;
        had += is_had ? 1 : 0;
        order.push_back(label);
        parts.push_back(all_.dim(part));
        narrow_parts.push_back(is_had ? parts.back() : Dim(1));
      }
      is_whole &= had == 0 || had == axis.size();
      narrow.push_back(had == 0 ? Dim(1) : shape[narrow.size()]);
    }
    const NodeId own = writer_.aligned({nodes_.at(r.term), r.labels}, order);
    const NodeId made = is_whole ? writer_.broadcast(writer_.reshape(own, narrow), shape)
                                 : writer_.reshape(writer_.broadcast(writer_.reshape(own, narrow_parts), parts), shape);
    tensors_[n] = made;
    return made;
  }

  const graph::Graph& written_;
  const GraphTerms& all_;
  const Choice& choice_;
  NodeWriter writer_;
  OpWriter op_writer_{all_, choice_, writer_, nodes_};
  graph::Graph& to_;
  std::map<NodeId, NodeId> copies_;   // by node of the written graph: its copy
  std::map<NodeId, NodeId> tensors_;  // by node of the written graph: its value in its own shape
  std::vector<bool> is_kept_;         // by node of the written graph
  std::map<int, NodeId> kept_;        // by class: a node that is kept, and whose parts are all slots of the class
  std::map<int, WrittenOp> ops_;      // by class
  std::map<int, NodeId> nodes_;       // by class
};

}  // namespace

graph::Graph terms_to_graph(const graph::Graph& written, const GraphTerms& all, const Choice& choice) {
  graph::Graph g(written.symbols());
  for (std::uint32_t i = 0; i < written.composites(); ++i) g.add_composite(written.composite(i));
  std::map<NodeId, NodeId> copies;
  for (std::uint32_t i = 0; i < written.size(); ++i)
    if (const graph::Node& n = written.node({i}); n.op == graph::Op::input || n.op == graph::Op::scalar) copies[{i}] = g.append(n);
  Writing writing(written, all, choice, g, std::move(copies));
  for (const graph::Output& o : written.outputs()) g.add_output({o.name, writing.value(o.node), o.where});
  return g;
}

namespace {

/// Calls `write` with what appends to the graph.
template <class Write>
void append(graph::Graph& written, const GraphTerms& all, const Choice& choice, Write&& write) {
  const graph::Graph before = written;
  std::map<NodeId, NodeId> copies;
  for (std::uint32_t i = 0; i < before.size(); ++i)
    if (before.node({i}).op != graph::Op::argument && graph::is_leaf(before.node({i}).op)) copies[{i}] = {i};
  Writing writing(before, all, choice, written, std::move(copies));
  write(writing);
}

}  // namespace

std::vector<NodeId> append_values(graph::Graph& written, const GraphTerms& all, const Choice& choice, std::span<const NodeId> nodes) {
  std::vector<NodeId> values;
  append(written, all, choice, [&](Writing& writing) {
    for (NodeId n : nodes) values.push_back(writing.value(n));
  });
  return values;
}

std::vector<NodeId> append_terms(graph::Graph& written, const GraphTerms& all, const Choice& choice, std::span<const Ref> terms) {
  std::vector<NodeId> values;
  append(written, all, choice, [&](Writing& writing) {
    for (const Ref& r : terms) values.push_back(writing.term(r));
  });
  return values;
}

}  // namespace tilewright::passes::search
