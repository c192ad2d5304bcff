// Copies a graph node by node, in the order of definition.
#include "passes/fusion/graph/folded_constants.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tileir/builder.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/interpreter/evaluate_scalar.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Node;
using graph::NodeId;
using graph::Op;
using ir::Element;
using ir::OpKind;

bool is_cast_of_floats(const Node& n, Element from) {
  return n.op == Op::map && n.function == OpKind::cast_ && ir::is_float(n.element) && ir::is_float(from) && n.element != from;
}

std::uint64_t converted(std::uint64_t bits, Element from, Element to) {
  return from == to ? bits : ir::evaluate_scalar(OpKind::cast_, std::array{ir::Type(from)}, std::array{bits}, ir::Type(to));
}

bool is_held(std::uint64_t bits, Element from, Element to) {
  return std::isnan(ir::float_value(from, bits)) || converted(converted(bits, from, to), to, from) == bits;
}

// The least number of the type that has all its bits; floats of 8 and 16 bits are always folded.
double least_normal(Element e) { return e == Element::f64 ? 0x1p-1022 : 0x1p-126; }

// Whether the type of a map decides on the constant that it computes.
bool depends_on_type(const Node& n, std::uint64_t bits) {
  if (!ir::is_float(n.element) || n.function == OpKind::cast_ || n.function == OpKind::bitcast_ || ir::bits(n.element) <= 16) return true;
  const double size = std::fabs(ir::float_value(n.element, bits));
  return !std::isfinite(size) || size < least_normal(n.element);
}

// The operands from which an op takes its elements as they are.
std::vector<std::size_t> moved_operands(const Node& n) {
  if (n.op == Op::map && n.function == OpKind::select_) return {1, 2};
  if (graph::is_view(n.op)) return {0};
  std::vector<std::size_t> all;
  if (n.op == Op::concat || n.op == Op::pad)
    for (std::size_t i = 0; i < n.operands.size(); ++i) all.push_back(i);
  return all;
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

  NodeId append(Node n) {
    values_.push_back(value_of(n));
    const std::vector<std::size_t> moved = moved_operands(n);
    has_constants_.push_back(std::any_of(moved.begin(), moved.end(), [&](std::size_t i) { return holds_constants(n.operands[i]); }));
    return folded_.append(std::move(n));
  }

  /// Whether elements are constants, which may be chosen or moved.
  bool holds_constants(NodeId n) const { return values_[n.index] || has_constants_[n.index]; }

  /// The bits of all elements, if they are one constant.
  std::optional<std::uint64_t> value_of(const Node& n) const {
    if (n.op == Op::constant && n.data->bits.size() == 1) return n.data->bits[0];
    if (graph::is_view(n.op)) return values_[n.operands[0].index];
    if (n.op != Op::map) return std::nullopt;
    std::vector<ir::Type> types;
    std::vector<std::uint64_t> bits;
    for (std::size_t i = 0; i < n.operands.size(); ++i) {
      const std::optional<std::uint64_t>& x = values_[n.operands[i].index];
      if (!x) return std::nullopt;
      types.emplace_back(operand(n, i).element);
      bits.push_back(*x);
    }
    if (n.function == OpKind::cast_) return converted(bits[0], operand(n, 0).element, n.element);
    const bool divides = (n.function == OpKind::div_ || n.function == OpKind::rem_) && !ir::is_float(n.element);
    if (divides && bits[1] == 0) return std::nullopt;
    return ir::evaluate_scalar(n.function, types, bits, ir::Type(n.element));
  }

  NodeId fold(Node n) {
    if (n.op == Op::map) {
      if (const std::optional<std::uint64_t> value = value_of(n); value && depends_on_type(n, *value))
        return constant(std::move(n), *value);
      if (is_cast_of_floats(n, operand(n, 0).element) && has_constants_[n.operands[0].index])
        if (const std::optional<NodeId> moved = cast_inside(n)) return *moved;
    }
    return append(std::move(n));
  }

  NodeId constant(Node n, std::uint64_t bits) {
    is_changed_ = true;
    n.op = Op::constant;
    n.operands.clear();
    n.data = std::make_shared<graph::ConstantData>(graph::ConstantData{{bits}});
    return append(std::move(n));
  }

  // ---- casts of what is chosen or moved ----

  bool is_made_of_others(NodeId n) const { return !values_[n.index] && has_constants_[n.index]; }

  /// A node and what it takes elements from, operands before their users, without what is already known.
  template <class IsKnown>
  std::set<NodeId> parts_of(NodeId root, IsKnown&& is_known) const {
    std::set<NodeId> parts;
    for (std::vector<NodeId> todo = {root}; !todo.empty();) {
      const NodeId id = todo.back();
      todo.pop_back();
      if (is_known(id) || !parts.insert(id).second || !is_made_of_others(id)) continue;
      const Node& n = folded_.node(id);
      for (std::size_t i : moved_operands(n)) todo.push_back(n.operands[i]);
    }
    return parts;
  }

  /// The operand of a cast, computed in the type of the cast from its own operands, if that changes a constant.
  std::optional<NodeId> cast_inside(const Node& cast) {
    const NodeId whole = cast.operands[0];
    const Element to = cast.element;
    for (NodeId id : parts_of(whole, [&](NodeId x) { return casts_.contains({x, to}); })) {
      bool changes = false;
      const Node& n = folded_.node(id);
      if (const auto& value = values_[id.index]) changes = !is_held(*value, n.element, to);
      if (is_made_of_others(id))
        for (std::size_t i : moved_operands(n)) changes = changes || casts_.at({n.operands[i], to}).changes;
      casts_[{id, to}].changes = changes;
    }
    if (!casts_.at({whole, to}).changes) return std::nullopt;
    is_changed_ = true;
    for (NodeId id : parts_of(whole, [&](NodeId x) { return casts_.at({x, to}).node.has_value(); }))
      casts_.at({id, to}).node = append_cast(id, cast);
    const NodeId result = *casts_.at({whole, to}).node;
    if (folded_.node(result).name.empty()) folded_.set_name(result, cast.name);
    return result;
  }

  /// Appends the cast of a part of a cast's operand.
  NodeId append_cast(NodeId id, const Node& cast) {
    Node own = folded_.node(id);
    if (is_made_of_others(id)) {
      own.element = cast.element;
      own.name.clear();
      for (std::size_t i : moved_operands(own)) own.operands[i] = *casts_.at({own.operands[i], cast.element}).node;
      return append(std::move(own));
    }
    Node outside = cast;
    outside.shape = own.shape;
    outside.operands = {id};
    outside.name.clear();
    return fold(std::move(outside));
  }

  struct Cast {
    bool changes = false;        // a constant that the type does not hold
    std::optional<NodeId> node;  // where it was appended
  };

  const graph::Graph& g_;
  graph::Graph folded_;
  std::vector<NodeId> moved_;                         // by node of the graph
  std::vector<std::optional<std::uint64_t>> values_;  // by node of the copy
  std::vector<bool> has_constants_;                   // by node of the copy
  std::map<std::pair<NodeId, Element>, Cast> casts_;  // of nodes of the copy
  bool is_changed_ = false;
};

}  // namespace

std::optional<graph::Graph> with_folded_constants(const graph::Graph& g) { return ConstantFolding(g).run(); }

}  // namespace tilewright::passes::fusion
