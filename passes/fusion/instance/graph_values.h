// Elements of a graph's values at a small instance, op by op as the graph is written.
#pragma once
#include <vector>

#include "passes/fusion/instance/lazy_values.h"
#include "passes/fusion/instance/sample.h"

namespace tilewright::passes::fusion {

/// An element of a tensor in memory: of an input, a constant, a scalar, or a stored node.
Number stored_element(const graph::Graph&, graph::NodeId, const Sample&, const std::vector<std::int64_t>& position);

/// The function of a reduction of two elements.
Number combined(const graph::Graph&, graph::NodeId function, const Number& earlier, const Number& later);
/// Two elements combined by an op.
Number combined(graph::Combine, ir::Element, const Number& earlier, const Number& later);

class GraphValues {
 public:
  /// `axes` says which nodes are in memory, and which positions of an axis a reduction visits.
  GraphValues(const graph::Graph& g, const AxisAnalysis& axes, const Sample& sample) : g_(g), axes_(axes), sample_(sample) {}

  using Position = std::vector<std::int64_t>;
  Number value(graph::NodeId, const Position&);
  std::size_t size() const { return values_.size(); }

 private:
  struct Key {
    graph::NodeId node;
    Position position;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key&) const;
  };

  Number operand(const graph::Node& n, std::size_t i, Position p) { return values_.get({n.operands[i], std::move(p)}); }
  Number compute(const Key&);
  std::int64_t extent(const graph::Node& n, std::size_t i, std::size_t axis) const;

  // Number run_map(const Key&); and so on: an op without one does not link.
#define TW_GRAPH_OP(name, ...) Number run_##name(const Key&);
#include "tileir/graph/graph_ops.def"
#undef TW_GRAPH_OP
  /// Calls body(position in the operand, weight) for each visited position of the reduced axes, in row-major order.
  template <class F>
  void for_each_reduced(const Key&, F&& body);

  const graph::Graph& g_;
  const AxisAnalysis& axes_;
  const Sample& sample_;
  friend class LazyValues<Key, KeyHash, GraphValues>;
  LazyValues<Key, KeyHash, GraphValues> values_{*this};
};

}  // namespace tilewright::passes::fusion
