// A graph as labelled terms: the tables that its terms refer to, and the term of each value.
//
// A value of the graph is a term whose slots are the parts of the value's axes (axis_parts.h). The part at position p, counted over all axes
// from the outermost, has the label p. A value that is broadcast along a part has a term without that slot:
//
//   %1 = broadcast %b : f32[s, 64]       the term of %b with its slot labelled 1
//   %2 = reshape %1 : f32[s, 4, 16]      divides 64 into the labels 1, 2
#pragma once
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/search/egraph.h"
#include "tileir/graph/graph.h"

namespace tilewright::passes::search {

/// The extents of the parts of each axis of a tensor.
struct Layout {
  std::vector<std::vector<Extent>> axes;
};

/// The labels of the parts of each axis.
using AxisLabels = std::vector<std::vector<Label>>;
/// Numbers the parts of all axes in order.
AxisLabels numbered(const Layout&);

/// The value of a node.
struct Value {
  Ref ref;
  Layout layout;
};

/// The signs of the elements of a constant. zero: one of its elements is 0.
enum class Signs : std::uint8_t { positive, negative, both, zero };

/// The value for which a variable of the terms stands.
struct Leaf {
  enum class Kind : std::uint8_t {
    number,  // a constant without axes: `bits`
    ones,    // ones along one axis: a factor that broadcasts
    iota,    // positions along one axis, which may have parts: `layout`
    node,    // the value of `node`, whose parts are all its slots; what its operands are is known by their values
  };
  Kind kind{};
  std::uint64_t bits = 0;
  graph::NodeId node;
  Layout layout;
  std::optional<Signs> signs = {};  // of a number, or of a node that is a constant, if all elements are finite
};

/// A linear map along one axis.
struct View {
  graph::Op op{};            // slice, pad (with zeros), flip, rotate, or window: the sums of its elements
  std::vector<Dim> lengths;  // the lengths of the node
  Move move;
};

/// The signs of numbers, if all are finite.
std::optional<Signs> signs_of(ir::Element, std::span<const std::uint64_t> bits);

/// The attribute of a product of f32 that is a sum of products as written: it multiplies exactly, as with the precision ieee.
inline constexpr int kOfSum = static_cast<int>(graph::ProductPrecision::ieee) + 1;
inline graph::ProductPrecision precision_of(int attribute) {
  return attribute == kOfSum ? graph::ProductPrecision::ieee : static_cast<graph::ProductPrecision>(attribute);
}

/// Terms with the tables of their attributes:
///
///   variable   Leaf                       product    graph::ProductPrecision, or kOfSum
///   function   ir::OpKind                 reduce     graph::Combine
///   view       View                       cat, part  Cut
///
/// A function by the op `div` with one operand is its reciprocal.
class GraphTerms {
 public:
  /// No more axes than a tensor may have, so that every term can be written as a node.
  GraphTerms();

  TermTable terms;
  std::vector<Leaf> leaves;
  std::vector<View> views;
  std::vector<std::optional<Value>> values;  // indexed by node; none for nodes that no output needs
  std::vector<graph::NodeId> origins;        // indexed by term: the node with which it was made

  Extent extent(const Dim&);
  const Dim& dim(Extent e) const { return dims_[static_cast<std::size_t>(e)]; }

  /// The leaf for which a node of the terms stands; null if it is an op.
  const Leaf* leaf(const Node& n) const { return n.op == Op::variable ? &leaves[static_cast<std::size_t>(n.attribute)] : nullptr; }

  Ref number(ir::Element, std::uint64_t bits);
  /// Ones along an axis, labelled 0.
  Ref ones(ir::Element, Extent);
  /// Positions along an axis of these parts, labelled 0, 1, ...
  Ref iota(ir::Element, const std::vector<Extent>& parts);
  Ref leaf(graph::NodeId, ir::Element, const Layout&, std::optional<Signs> = {});
  int cut(const Dim& first, const Dim& second);
  int view(graph::Op, const std::vector<Dim>& lengths, const Dim& from, const Dim& to);

 private:
  Ref variable(const std::string& key, const Leaf&, ir::Element, const std::vector<Extent>&);

  std::vector<Dim> dims_;
  std::unordered_map<std::string, int> extents_, variables_, cuts_, moves_;  // by their text
};

/// One line a term, "t4[a, b] : f32[n, 8] = product(t0[a, c], t3[c, b] -> [a, b])", and a line for each output.
std::string text(const GraphTerms&, const graph::Graph&);
/// Each class with its nodes, one a line.
std::string text(const GraphTerms&, const graph::Graph&, const NodeSource& classes);

}  // namespace tilewright::passes::search
