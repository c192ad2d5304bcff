// Computes elements of a graph's values at a small instance, op by op as the graph is written.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "passes/fusion/check/axis_cuts.h"
#include "passes/fusion/check/lazy_values.h"
#include "passes/fusion/check/sample.h"

namespace tilewright::passes::fusion {

/// An element of a tensor in memory: an input, a constant, a scalar, or a stored node.
Number stored_element(const graph::Graph&, graph::NodeId, const Sample&, const Coordinates&);

/// Applies the function of a reduction to two elements.
Number combined(const graph::Graph&, graph::NodeId function, const Number& earlier, const Number& later);
/// Combines two elements by a named reduction.
Number combined(graph::Combine, ir::Element, const Number& earlier, const Number& later);

class GraphValues {
 public:
  /// `axes` says which nodes are in memory, and which positions of an axis a reduction visits: as the translation binds them, or those of
  /// `cuts`.
  GraphValues(const graph::Graph& g, const AxisAnalysis& axes, const Sample& sample, const AxisCuts* cuts = nullptr)
      : g_(g), axes_(axes), sample_(sample), cuts_(cuts) {}

  Number value(graph::NodeId, const Coordinates&);
  std::size_t size() const { return values_.size(); }

 private:
  struct Key {
    graph::NodeId node;
    Coordinates position;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key&) const;
  };

  Number operand(const graph::Node& n, std::size_t i, const Coordinates& p) { return values_.get({n.operands[i], p}); }
  Number compute(const Key&);
  Coordinates without_moved_ones(const graph::Node& reshape, const Coordinates&) const;
  std::int64_t extent(const graph::Node& n, std::size_t i, std::size_t axis) const { return sample_.shape(n.operands[i])[axis]; }

  // Declares Number run_map(const Key&) and so on: an op without its function does not link.
#define TW_GRAPH_OP(name, ...) Number run_##name(const Key&);
#include "tileir/graph/graph_ops.def"
#undef TW_GRAPH_OP
  /// Calls body(position in the operand, weight) for each visited position of the reduced axes, in row-major order.
  template <class F>
  void for_each_reduced(const Key&, F&& body);
  /// The sum of a product: the axes of its labels, and the positions that are visited along bound labels.
  struct Product {
    std::vector<std::size_t> free;                    // for each axis of the result: the label's number
    std::vector<std::vector<std::size_t>> operands;   // for each operand and axis: the label's number; kOne: an extent of 1
    std::vector<std::vector<SampledPosition>> bound;  // for each bound label; their numbers follow those of the result's labels
  };
  static constexpr std::size_t kOne = SIZE_MAX;
  const Product& product_of(graph::NodeId);
  /// The indexed axis of a table that contains a reduction.
  struct Indexed {
    std::vector<SampledPosition> positions;
    bool divides = false;  // the plan tells apart the positions that one represents
  };
  std::optional<std::int64_t> selected(const Key&, const Number& index);
  /// Whether the value contains a reduction, a product or a scan that is not in memory.
  bool holds_reduction(graph::NodeId);
  const std::vector<std::vector<SampledPosition>>& reduced_positions(graph::NodeId);
  std::vector<SampledPosition> positions(const AtomList&, bool by_pieces) const;

  const graph::Graph& g_;
  const AxisAnalysis& axes_;
  const Sample& sample_;
  const AxisCuts* cuts_;
  friend class LazyValues<Key, KeyHash, GraphValues>;
  LazyValues<Key, KeyHash, GraphValues> values_{*this};
  std::unordered_map<std::uint32_t, Product> products_;                                   // indexed by node
  std::unordered_map<std::uint32_t, Indexed> indexed_;                                    // indexed by node
  std::vector<bool> holds_reduction_;                                                     // indexed by node
  std::unordered_map<std::uint32_t, std::vector<std::vector<SampledPosition>>> reduced_;  // indexed by node, then by axis of the operand
};

}  // namespace tilewright::passes::fusion
