// Computes reductions, scans and products at one element, by their definitions.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "passes/fusion/check/graph_values.h"

namespace tilewright::passes::fusion {

using graph::Combine;
using graph::Node;
using graph::NodeId;
using ir::Element;
using ir::OpKind;

Number combined(Combine kind, Element e, const Number& a, const Number& b) {
  const std::array both{a, b};
  const auto apply_op = [&](OpKind op) { return ir::is_float(e) ? apply_float(op, both) : apply_integer(op, both, e, e); };
  switch (kind) {
    case Combine::sum: return apply_op(OpKind::add_);
    case Combine::prod: return apply_op(OpKind::mul_);
    case Combine::max: return apply_op(OpKind::maximum_);
    case Combine::min: return apply_op(OpKind::minimum_);
    case Combine::any:
    case Combine::all: {
      const bool decides = kind == Combine::any;
      for (const Number& x : both)
        if (x.is_known() && x.is_true() == decides) return {decides ? 1.0L : 0.0L};
      return a.is_known() && b.is_known() ? Number{decides ? 0.0L : 1.0L} : Number::unknown();
    }
    default: return Number::unknown();
  }
}

// Indexed by axis of the operand; empty for an axis that is not reduced.
const std::vector<std::vector<SampledPosition>>& GraphValues::reduced_positions(NodeId id) {
  const auto [at, is_new] = reduced_.try_emplace(id.index);
  if (!is_new) return at->second;
  const Node& n = g_.node(id);
  const TensorAtoms atoms = axes_.operand_atoms(id, 0);
  at->second.resize(atoms.size());
  // A reduction by a function need not be commutative, so its axes are not split.
  for (int axis : n.axes)
    at->second[static_cast<std::size_t>(axis)] = positions(atoms[static_cast<std::size_t>(axis)], n.kind != Combine::combine);
  return at->second;
}

std::vector<SampledPosition> GraphValues::positions(const AtomList& axis, bool by_pieces) const {
  return cuts_ ? cuts_->positions(axis) : sample_.positions(axis, by_pieces);
}

template <class F>
void GraphValues::for_each_reduced(const Key& k, F&& body) {
  const Node& n = g_.node(k.node);
  const std::vector<std::vector<SampledPosition>>& reduced = reduced_positions(k.node);
  Coordinates p(reduced.size());
  const bool divides = sample_.relates_indices() && divides_positions(n.kind);
  const auto visit = [&](const auto& self, std::size_t axis, std::size_t kept, std::int64_t weight) -> void {
    if (axis == p.size()) return body(p, weight);
    if (std::find(n.axes.begin(), n.axes.end(), static_cast<int>(axis)) == n.axes.end()) {
      p[axis] = k.position[kept];
      return self(self, axis + 1, kept + 1, weight);
    }
    Coordinates others = k.position;
    for (std::size_t i = 0; i < axis; ++i) others.push_back(p[i]);
    for (const SampledPosition& s : reduced[axis])
      sample_.for_each_meant(s, others, divides, [&](std::int64_t coordinate, std::int64_t own) {
        p[axis] = coordinate;
        self(self, axis + 1, kept + (n.keep_dims ? 1 : 0), weight * own);
      });
  };
  visit(visit, 0, 0, 1);
}

Number GraphValues::run_reduce(const Key& k) {
  const Node& n = g_.node(k.node);
  const Element of = g_.node(n.operands[0]).element;
  const bool is_position = n.kind == Combine::argmax || n.kind == Combine::argmin;
  bool is_first = true;
  Number result, position;
  for_each_reduced(k, [&](const Coordinates& p, std::int64_t weight) {
    const Number x = operand(n, 0, p);
    if (values_.is_missing()) return;
    if (is_position) {
      // The position within the reduced axes; of equal elements the first one.
      std::int64_t at = 0;
      for (int axis : n.axes) at = at * extent(n, 0, static_cast<std::size_t>(axis)) + position_of(p[static_cast<std::size_t>(axis)]);
      const bool is_open = !is_first && result.is_known() && x.is_known() && x.error + result.error > 0 &&
                           std::fabs(x.value - result.value) <= x.error + result.error;
      const bool is_nan = std::isnan(x.value), was_nan = std::isnan(result.value);
      const bool is_better =
          is_first || (!was_nan && (is_nan || (n.kind == Combine::argmax ? x.value > result.value : x.value < result.value)));
      if (!x.is_known() || is_open || (!is_first && !position.is_known()))
        position = Number::unknown();
      else if (is_better)
        position = exact_number(at);
      if (is_better) result = x;
    } else if (n.kind == Combine::combine) {
      result = is_first ? x : combined(g_, n.combiner, result, x);
    } else {
      // Narrow integers are summed in the type to which they are widened.
      const Number own = n.kind == Combine::sum && n.element != of ? cast(x, of, n.element) : x;
      const Number weighted = n.kind != Combine::sum ? own
                              : ir::is_float(n.element)
                                  ? own * exact_number(weight)
                                  : apply_integer(OpKind::mul_, std::array{own, exact_number(weight)}, n.element, n.element);
      result = is_first ? weighted : combined(n.kind, n.element, result, weighted);
    }
    is_first = false;
  });
  return is_position ? position : result;
}

Number GraphValues::run_scan(const Key& k) {
  const Node& n = g_.node(k.node);
  const auto axis = static_cast<std::size_t>(n.axes[0]);
  const std::int64_t here = k.position[axis];
  AxisPositions all = sample_.positions(sample_.shape(k.node)[axis]);
  if (n.reverse) std::reverse(all.begin(), all.end());
  bool is_first = true;
  Number result = combined(Combine::sum, n.element, {}, {});
  for (const SampledPosition& s : all) {
    if (n.reverse ? s.position < here : s.position > here) continue;
    Coordinates p = k.position;
    p[axis] = s.position;
    const Number x = operand(n, 0, p);
    if (values_.is_missing()) continue;
    result = is_first ? x : combined(n.kind, n.element, result, x);
    is_first = false;
  }
  return is_first && !values_.is_missing() ? Number::unknown() : result;
}

const GraphValues::Product& GraphValues::product_of(NodeId id) {
  const auto [found, is_new] = products_.try_emplace(id.index);
  Product& product = found->second;
  if (!is_new) return product;
  const Node& n = g_.node(id);
  std::string labels;  // indexed by number
  const auto number = [&](char c) {
    const std::size_t at = labels.find(c);
    if (at != labels.npos) return at;
    labels += c;
    return labels.size() - 1;
  };
  const std::size_t arrow = n.text.find("->");
  for (char c : n.text.substr(arrow + 2)) product.free.push_back(number(c));
  const std::size_t free = labels.size();
  for (const auto& [label, atoms] : axes_.labels(id))
    if (number(label) >= free) product.bound.push_back(positions(atoms, true));
  std::size_t at = 0;
  for (NodeId x : n.operands) {
    std::vector<std::size_t>& axes = product.operands.emplace_back();
    for (const Dim& d : g_.node(x).shape) {
      const char c = n.text[at++];
      axes.push_back(d == Dim(1) ? kOne : number(c));
    }
    ++at;
  }
  return product;
}

Number GraphValues::run_einsum(const Key& k) {
  const Node& n = g_.node(k.node);
  const Product& product = product_of(k.node);
  Coordinates at;  // indexed by number of the label
  for (std::size_t i = 0; i < k.position.size(); ++i) {
    if (product.free[i] == at.size()) at.push_back(0);
    at[product.free[i]] = k.position[i];
  }
  Number sum;
  const auto visit = [&](const auto& self, std::size_t next, std::int64_t weight) -> void {
    if (next < product.bound.size()) {
      const Coordinates others = at;
      for (const SampledPosition& s : product.bound[next])
        sample_.for_each_meant(s, others, sample_.relates_indices(), [&](std::int64_t coordinate, std::int64_t own) {
          at.push_back(coordinate);
          self(self, next + 1, weight * own);
          at.pop_back();
        });
      return;
    }
    Number term = exact_number(weight);
    for (std::size_t i = 0; i < n.operands.size(); ++i) {
      Coordinates p;
      for (std::size_t label : product.operands[i]) p.push_back(label == kOne ? 0 : at[label]);
      term = term * operand(n, i, p);
    }
    sum = sum + term;
  };
  visit(visit, 0, 1);
  return sum;
}

}  // namespace tilewright::passes::fusion
