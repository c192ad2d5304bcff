// Translates the values of a graph into expressions over named axes.
//
//   1. AxisAnalysis finds which axes of the tensors are the same (axes.h).
//   2. name_axes: each axis is called after the symbol that is its extent, or after a tensor that has it.
//   3. translate: the axes of a result get names, and its value is that of the node at these positions (at).
//   4. make: each op has a function (translate_reduce and so on), which asks for its operands at the positions that it reads (operand).
//   5. load: a value in memory is an element of a tensor.
//
// Names are given from the outputs down: the axes of an output get names, each op passes them to its operands, and a reduction names the
// axes that it binds. If that name is already in use, the bound axis gets a prime: in x x^T with a single x, rows and columns are two axes
// of one tensor. Names depend only on inputs (input and axis), so rewriting formulas in between does not change them.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/translate/axes.h"
#include "passes/fusion/translate/positions.h"
#include "passes/fusion/translate/repeated_values.h"
#include "passes/fusion/translate/signed_zeros.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

/// A value of the graph over free axes: the expression is the element [index[0], index[1], ...].
struct BoundValue {
  Expr value;
  std::vector<Expr> index;
};

class GraphToExprs {
 public:
  struct Options {
    bool move_rounding = true;                               // casts to narrower floats may be rounded elsewhere
    std::function<std::string(graph::NodeId)> name_of = {};  // name of a node's value in reports
    bool names_axes_by_symbols = true;                       // if not, an axis has the same name for a symbol and for a number
  };
  /// Keeps the references. `zero_signs`: nodes_with_signed_zeros of the graph.
  GraphToExprs(const graph::Graph&, const AxisAnalysis&, const std::vector<ZeroSign>& zero_signs, ExprBuilder&, Options);

  /// A node's value at each of its elements.
  BoundValue translate(graph::NodeId);
  /// A node's value at this index along each of its axes.
  Expr value_at(graph::NodeId, const std::vector<Expr>& index);
  /// The tensor in memory of an input, a constant or a stored node.
  Tensor tensor_of(graph::NodeId n) { return tensor(g_.node(n), n); }
  /// All values that were translated, operands first.
  const std::vector<TranslatedValue>& values() const { return values_; }
  /// The name of an axis in formulas, or none if no tensor has it.
  std::string name_of(Atom*) const;

 private:
  void name_axes();
  std::string label_of(graph::NodeId, std::size_t axis, std::size_t part, std::size_t parts) const;
  Axis axis_of(Atom*, const AxisSet& used);
  Axis axis_of_scan(graph::NodeId, const AtomList&, const AxisSet& used);
  Expr at(graph::NodeId, const Position&);
  bool has_all_elements(graph::NodeId, const Position&) const;
  Expr make(graph::NodeId, const Position&);
  Expr operand(graph::NodeId, std::size_t i, const Position&);
  // Declares Expr translate_input(graph::NodeId, const Position&) and so on: a tensor op without its function does not link.
#define TW_GRAPH_OP(name, ...) Expr translate_##name(graph::NodeId, const Position&);
#include "tileir/graph/graph_ops.def"
#undef TW_GRAPH_OP
  /// An element of a tensor in memory.
  Expr load(graph::NodeId, const Position&);
  Expr constant(ir::Element, std::uint64_t bits);
  Expr map(graph::NodeId, const std::vector<Expr>&);
  /// The op of a node of which the sign of a zero may be read.
  Expr with_sign_of_zero(graph::NodeId, std::vector<Expr>);
  /// Converts the result of an op's translation to the node's type.
  Expr typed(const graph::Node&, graph::Integers, Expr);
  /// The value of a node, rounded to its type if roundings stay in place.
  Expr rounded(const graph::Node&, Expr value);
  /// An op whose result is a number of this type.
  Expr arithmetic(ir::OpKind, const std::vector<Expr>&, ir::Element);
  Expr with_lost_differences(Expr sum, Expr x, Expr y);
  Expr written_sum(Expr x, Expr y);
  Expr written_product(Expr x, Expr y);
  Expr written_power(Expr x, const Rational& exponent);
  Expr float_arithmetic(ir::OpKind, const std::vector<Expr>&, ir::Element);
  Expr integer_arithmetic(ir::OpKind, const std::vector<Expr>&, ir::Element);
  Expr compare(ir::OpKind, Expr a, Expr b, ir::Element);
  Expr cast(Expr, ir::Element from, ir::Element to);
  Expr truncated(Expr number, ir::Element to);
  Expr moved_along(graph::NodeId, const Position&, Expr along);
  Expr before_rotation(Expr i, const Dim& offset, const Dim& n);
  /// One operand of a concatenation, at positions begin to end.
  struct JoinedPiece {
    std::size_t operand;
    Dim begin, end;
  };
  std::vector<JoinedPiece> joined_pieces(const graph::Node&) const;
  const JoinedPiece* piece_of(Expr position, const std::vector<JoinedPiece>&);
  Expr reduced(graph::Combine, const AxisSet& bound, Expr body, const ProductElement&, ir::Element);
  Expr some_element(graph::NodeId reduction);
  /// One piece of the axes of a reduction: the reduction combines `body` there; `position` is the position in row-major order.
  struct ReducedPiece {
    AxisSet bound;
    Expr body, position;
  };
  Expr combined(graph::Combine, Expr a, Expr b, ir::Element);
  Expr position_of_extreme(const graph::Node&, const std::vector<ReducedPiece>&);
  Expr reduce_by_function(graph::NodeId, const Position&);
  Expr indexed(graph::NodeId, const Position&);
  Expr pick(Expr, const AxisPosition& along, const AtomList&, Expr position);
  Tensor tensor(const graph::Node&, graph::NodeId);

  /// The alternatives for binding the atoms of an axis: one, or one for each tensor of a concatenation.
  std::vector<AxisPosition> bindings(const AtomList&, const AxisSet& used);

  const graph::Graph& g_;
  const AxisAnalysis& axes_;
  ExprBuilder& b_;
  Options options_;
  struct AxisName {
    std::string name, label;
    std::vector<AxisData::Label> labels;
  };
  std::map<Atom*, AxisName> names_;
  const std::vector<ZeroSign>& zero_signs_;  // by node
  std::vector<TranslatedValue> values_;
  std::map<graph::NodeId, std::vector<std::pair<Position, std::size_t>>>
      memo_;                                    // for each node: the index in values_ of its value at a position
  std::vector<std::vector<std::size_t>> open_;  // for each value that is being translated: its operands so far
};

}  // namespace tilewright::passes::fusion
