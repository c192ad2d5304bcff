// Copies a graph node by node, in the order of definition.
#include "passes/fusion/graph/folded_constants.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "passes/fusion/graph/constant_values.h"
#include "passes/fusion/thresholds.h"
#include "tileir/builder.h"
#include "tileir/interpreter/evaluate_scalar.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Node;
using graph::NodeId;
using graph::Op;
using ir::Element;
using ir::OpKind;

std::uint64_t converted(std::uint64_t bits, Element from, Element to) {
  return from == to ? bits : ir::evaluate_scalar(OpKind::cast_, std::array{ir::Type(from)}, std::array{bits}, ir::Type(to));
}

// Whether a float type has these numbers of another type, but for NaN.
bool is_held(const graph::ConstantData& data, Element from, Element to) {
  return std::all_of(data.bits.begin(), data.bits.end(), [&](std::uint64_t bits) {
    const long double narrow = ir::float_value(to, converted(bits, from, to));
    if (ir::is_float(from)) return std::isnan(ir::float_value(from, bits)) || narrow == ir::float_value(from, bits);
    return narrow == (from == Element::u64 ? static_cast<long double>(bits) : static_cast<long double>(ir::integer_value(from, bits)));
  });
}

class ConstantFolding {
 public:
  explicit ConstantFolding(const graph::Graph& g) : g_(g), folded_(g.symbols()) {}

  std::optional<graph::Graph> run() {
    for (std::uint32_t i = 0; i < g_.composites(); ++i) folded_.add_composite(g_.composite(i));
    for (std::uint32_t i = 0; i < g_.size(); ++i) {
      Node n = g_.node({i});
      for (NodeId& x : n.operands) x = moved_[x.index];
      if (n.combiner.valid()) n.combiner = moved_[n.combiner.index];
      moved_.push_back(fold(std::move(n)));
    }
    if (!is_changed_) return std::nullopt;
    for (const graph::Output& o : g_.outputs()) folded_.add_output({o.name, moved_[o.node.index], o.where});
    return std::move(folded_);
  }

 private:
  const Node& operand(const Node& n, std::size_t i) const { return folded_.node(n.operands[i]); }

  NodeId append(Node n, std::optional<ConstantValue> value) {
    const std::vector<std::size_t> moved = operands_with_constants(n);
    holds_constants_.push_back(
        value || std::any_of(moved.begin(), moved.end(), [&](std::size_t i) { return holds_constants_[n.operands[i].index]; }));
    values_.push_back(std::move(value));
    return folded_.append(std::move(n));
  }

  /// The operands whose constants the node passes on unchanged. A cast of the user's graph changes none of them.
  std::vector<std::size_t> operands_with_constants(const Node& n) const {
    return is_cast_to_float(n) ? std::vector<std::size_t>{0} : moved_operands(n);
  }
  bool is_cast_to_float(const Node& n) const {
    if (n.op != Op::map || n.function != OpKind::cast_ || !ir::is_float(n.element)) return false;
    const Element from = operand(n, 0).element;
    return from != n.element && from != Element::boolean;
  }

  NodeId fold(Node n) {
    std::optional<ConstantValue> value = values_.value_of(n);
    if (value && value->depends_on_type && value->is_uniform()) return constant(std::move(n), *value);
    if (is_cast_to_float(n) && is_made_of_others(n.operands[0]))
      if (const std::optional<NodeId> moved = cast_inside(n)) return *moved;
    if (value && value->depends_on_type) return constant(std::move(n), *value);
    return append(std::move(n), std::move(value));
  }

  NodeId constant(Node n, const ConstantValue& value) {
    is_changed_ = true;
    n.op = Op::constant;
    n.operands.clear();
    n.combiner = {};
    n.identity.reset();
    n.axes.clear();
    n.lengths.clear();
    n.text.clear();
    n.keep_dims = n.reverse = false;
    n.data = value.data;
    std::optional<ConstantValue> own = values_.value_of(n);
    return append(std::move(n), std::move(own));
  }

  // ---- casts of what is chosen or moved ----

  /// Whether a cast of the node can move to its operands, because the node only chooses, moves or casts their elements.
  bool is_made_of_others(NodeId n) const {
    if (!holds_constants_[n.index]) return false;
    const Node& node = folded_.node(n);
    return !operands_with_constants(node).empty() && !(values_[n] && (values_[n]->is_uniform() || is_cast_to_float(node)));
  }

  /// The node and, as long as is_made_of_others holds, its operands, with operands before their users. Skips what is already known.
  template <class IsKnown, class Operands>
  std::set<NodeId> parts_of(NodeId root, IsKnown&& is_known, Operands&& operands) const {
    std::set<NodeId> parts;
    for (std::vector<NodeId> todo = {root}; !todo.empty();) {
      const NodeId id = todo.back();
      todo.pop_back();
      if (is_known(id) || !parts.insert(id).second || !is_made_of_others(id)) continue;
      const Node& n = folded_.node(id);
      for (std::size_t i : operands(n)) todo.push_back(n.operands[i]);
    }
    return parts;
  }

  /// The operand of a cast, computed in the type of the cast from operands that are cast instead; none if this changes no constant.
  std::optional<NodeId> cast_inside(const Node& cast) {
    const NodeId whole = cast.operands[0];
    const Element to = cast.element;
    const auto is_decided = [&](NodeId x) { return casts_.contains({x, to}); };
    for (NodeId id : parts_of(whole, is_decided, [&](const Node& n) { return operands_with_constants(n); })) {
      bool changes = false;
      const Node& n = folded_.node(id);
      if (is_made_of_others(id))
        for (std::size_t i : operands_with_constants(n)) changes = changes || casts_.at({n.operands[i], to}).changes;
      else if (values_[id])
        changes = !is_held(*values_[id]->data, n.element, to);
      casts_[{id, to}].changes = changes;
    }
    if (!casts_.at({whole, to}).changes || copies_ > kMostCopiesOfCasts * g_.size()) return std::nullopt;
    is_changed_ = true;
    const NodeId result = moved_inside(whole, cast);
    if (folded_.node(result).name.empty()) folded_.set_name(result, cast.name);
    return result;
  }

  /// The cast of a node, made of the casts of the node's operands.
  NodeId moved_inside(NodeId whole, const Node& cast) {
    const Element to = cast.element;
    const auto is_appended = [&](NodeId x) {
      const auto at = casts_.find({x, to});
      return at != casts_.end() && at->second.node;
    };
    for (NodeId id : parts_of(whole, is_appended, moved_operands)) casts_[{id, to}].node = append_cast(id, cast), ++copies_;
    return *casts_.at({whole, to}).node;
  }

  /// Appends the cast of one part of the operand of `cast`.
  NodeId append_cast(NodeId id, const Node& cast) {
    Node own = folded_.node(id);
    if (is_made_of_others(id) && is_cast_to_float(own)) return moved_inside(moved_inside(own.operands[0], own), cast);
    if (is_made_of_others(id)) {
      own.element = cast.element;
      own.name.clear();
      for (std::size_t i : moved_operands(own)) own.operands[i] = *casts_.at({own.operands[i], cast.element}).node;
      std::optional<ConstantValue> value = values_.value_of(own);
      return append(std::move(own), std::move(value));
    }
    Node outside = cast;
    outside.shape = own.shape;
    outside.operands = {id};
    outside.name.clear();
    return fold(std::move(outside));
  }

  struct Cast {
    bool changes = false;        // it contains a constant that the type does not hold
    std::optional<NodeId> node;  // the appended cast
  };

  const graph::Graph& g_;
  graph::Graph folded_;
  std::vector<NodeId> moved_;                         // indexed by node of the graph: its node in the copy
  ConstantValues values_{folded_};                    // the constants of the copy
  std::vector<bool> holds_constants_;                 // indexed by node of the copy: whether elements are constants
  std::map<std::pair<NodeId, Element>, Cast> casts_;  // by node of the copy, and type
  std::size_t copies_ = 0;                            // number of nodes that were copied in the type of a cast
  bool is_changed_ = false;
};

}  // namespace

std::optional<graph::Graph> with_folded_constants(const graph::Graph& g) { return ConstantFolding(g).run(); }

}  // namespace tilewright::passes::fusion
