// Unifies and splits the atoms of axes, node by node.
#include "passes/search/graph/axis_parts.h"

#include <algorithm>
#include <map>

#include "tileir/diagnostics.h"
#include "tileir/graph/einsum.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::search {

using graph::AtomList;
using graph::Node;
using graph::NodeId;
using graph::TensorAtoms;

AxisParts::AxisParts(const graph::Graph& g, Reshapes reshapes)
    : g_(g), reshapes_(reshapes), needed_(g.needed_nodes()), opaque_(g.size()), axes_(g.size()) {
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    if (!needed_[i]) continue;
    const Node& n = g.node({i});
    TensorAtoms result;
    opaque_[i] = graph::is_empty(n.shape) || graph::has_empty_operand(g, n) || !visit(n, result);
    axes_[i] = opaque_[i] ? pool_.fresh(n.shape) : std::move(result);
  }
}

// ---- nodes ----

bool AxisParts::visit(const Node& n, TensorAtoms& result) {
  using graph::Op;
  switch (n.op) {
    case Op::input:
    case Op::scalar:
    case Op::constant:
    case Op::iota:
    case Op::extent:
    case Op::rand: result = pool_.fresh(n.shape); return true;
    case Op::map:
    case Op::broadcast: return visit_map(n, result);
    case Op::reshape: return visit_reshape(n, result);
    case Op::permute:
      for (int axis : n.axes) result.push_back(operand(n, 0)[static_cast<std::size_t>(axis)]);
      return true;
    case Op::slice:
    case Op::pad:
    case Op::flip:
    case Op::rotate: {
      // Along the axis, the result has positions of its own.
      result = operand(n, 0);
      const auto axis = static_cast<std::size_t>(n.axes[0]);
      result[axis] = pool_.fresh(n.shape[axis]);
      return true;
    }
    case Op::materialize: result = operand(n, 0); return true;
    case Op::window:
      result = operand(n, 0);
      result[static_cast<std::size_t>(n.axes[0])] = pool_.fresh(n.shape[static_cast<std::size_t>(n.axes[0])]);
      result.push_back(pool_.fresh(n.shape.back()));
      return true;
    case Op::concat: return visit_concat(n, result);
    case Op::reduce:
      if (n.kind == graph::Combine::argmax || n.kind == graph::Combine::argmin || n.kind == graph::Combine::combine) return false;
      for (std::size_t axis = 0; axis < operand(n, 0).size(); ++axis) {
        const bool is_reduced = std::find(n.axes.begin(), n.axes.end(), static_cast<int>(axis)) != n.axes.end();
        if (!is_reduced || n.keep_dims) result.push_back(is_reduced ? AtomList() : operand(n, 0)[axis]);
      }
      return true;
    case Op::einsum: return visit_einsum(n, result);
    case Op::argument:
    case Op::scan:
    case Op::gather:
    case Op::take_along:
    case Op::scatter_add:
    case Op::call: return false;
  }
  TW_UNREACHABLE("a tensor op");
}

bool AxisParts::visit_map(const Node& n, TensorAtoms& result) {
  result.resize(n.shape.size());
  for (std::size_t i = 0; i < n.operands.size(); ++i) {
    const TensorAtoms& x = operand(n, i);
    const std::size_t missing = result.size() - x.size();
    for (std::size_t axis = 0; axis < x.size(); ++axis)
      if (!pool_.try_broadcast(result[missing + axis], x[axis])) return false;
  }
  for (std::size_t axis = 0; axis < result.size(); ++axis)
    if (result[axis].empty()) result[axis] = pool_.fresh(n.shape[axis]);
  return true;
}

bool AxisParts::visit_reshape(const Node& n, TensorAtoms& result) {
  auto reshaped = pool_.reshaped(operand(n, 0), n.shape, reshapes_ == Reshapes::keep_axes);
  if (!reshaped) return false;
  result = std::move(*reshaped);
  return true;
}

bool AxisParts::visit_concat(const Node& n, TensorAtoms& result) {
  const auto along = static_cast<std::size_t>(n.axes[0]);
  result.resize(n.shape.size());
  for (std::size_t i = 0; i < n.operands.size(); ++i)
    for (std::size_t axis = 0; axis < result.size(); ++axis)
      if (axis != along && !pool_.try_broadcast(result[axis], operand(n, i)[axis])) return false;
  result[along] = pool_.fresh(n.shape[along]);
  return true;
}

bool AxisParts::visit_einsum(const Node& n, TensorAtoms& result) {
  const graph::Equation equation = graph::parse_equation(n.text, false).equation;
  std::map<char, AtomList> labels;
  for (std::size_t i = 0; i < n.operands.size(); ++i) {
    std::string seen;
    for (std::size_t axis = 0; axis < equation.operands[i].size(); ++axis) {
      const char label = equation.operands[i][axis];
      if (seen.find(label) != std::string::npos) return false;  // a diagonal
      seen += label;
      if (!pool_.try_broadcast(labels[label], operand(n, i)[axis])) return false;
    }
  }
  for (char label : equation.result) result.push_back(labels[label]);
  return true;
}

// ---- reading ----

std::vector<std::vector<Dim>> AxisParts::of(NodeId n) const {
  std::vector<std::vector<Dim>> all;
  for (const AtomList& axis : axes_[n.index]) {
    std::vector<Dim>& extents = all.emplace_back();
    for (const graph::Atom* a : graph::flat(axis)) extents.push_back(a->extent);
  }
  return all;
}

std::size_t AxisParts::most() const {
  std::size_t most = 0;
  for (const TensorAtoms& axes : axes_) {
    std::size_t count = 0;
    for (const AtomList& axis : axes) count += graph::flat(axis).size();
    most = std::max(most, count);
  }
  return most;
}

}  // namespace tilewright::passes::search
