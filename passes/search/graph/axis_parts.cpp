// Unifies and divides parts, node by node.
#include "passes/search/graph/axis_parts.h"

#include <algorithm>
#include <map>

#include "tileir/diagnostics.h"
#include "tileir/graph/einsum.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::search {

using graph::Node;
using graph::NodeId;

namespace {

bool is_one(const Dim& d) { return d == Dim(1); }

}  // namespace

AxisParts::AxisParts(const graph::Graph& g, Reshapes reshapes)
    : g_(g), reshapes_(reshapes), needed_(g.needed_nodes()), opaque_(g.size()), axes_(g.size()) {
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    if (!needed_[i]) continue;
    const Node& n = g.node({i});
    Axes result;
    opaque_[i] = graph::is_empty(n.shape) || graph::has_empty_operand(g, n) || !visit(n, result);
    axes_[i] = opaque_[i] ? fresh(n.shape) : std::move(result);
  }
}

// ---- parts ----

AxisParts::Part AxisParts::root(Part p) const {
  while (entries_[p].parent != p) p = entries_[p].parent = entries_[entries_[p].parent].parent;
  return p;
}

// The recursion is as deep as an extent was divided.
AxisParts::Axis AxisParts::flat(const Axis& axis) const {
  Axis all;
  for (Part p : axis) {
    p = root(p);
    if (entries_[p].divided.empty()) {
      all.push_back(p);
    } else {
      const Axis inner = flat(entries_[p].divided);
      all.insert(all.end(), inner.begin(), inner.end());
    }
  }
  return all;
}

AxisParts::Axis AxisParts::fresh(const Dim& extent) {
  if (is_one(extent)) return {};
  const auto p = static_cast<Part>(entries_.size());
  entries_.push_back({extent, p});
  return {p};
}

AxisParts::Axes AxisParts::fresh(const graph::TensorShape& shape) {
  Axes axes;
  for (const Dim& extent : shape) axes.push_back(fresh(extent));
  return axes;
}

// Requires: the division is exact, and neither factor is 1.
void AxisParts::divide(Part p, const Dim& outer) {
  const Dim inner = *Dim::divide_exactly(entries_[p].extent, outer);
  Axis divided = fresh(outer);
  divided.push_back(fresh(inner)[0]);
  entries_[p].divided = divided;
}

// From the left: equal extents become one part; of unequal ones, the greater is divided. A failure leaves parts that are divided or shared
// without need, which is not a mistake.
bool AxisParts::unify(Axis a, Axis b) {
  for (;;) {
    a = flat(a), b = flat(b);
    std::size_t i = 0;
    while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
    if (i == a.size() && i == b.size()) return true;
    if (i == a.size() || i == b.size()) return false;
    const Dim first = entries_[a[i]].extent, second = entries_[b[i]].extent;
    if (first == second)
      entries_[b[i]].parent = a[i];
    else if (Dim::divide_exactly(first, second))
      divide(a[i], second);
    else if (Dim::divide_exactly(second, first))
      divide(b[i], first);
    else
      return false;
  }
}

bool AxisParts::unify_into(Axis& result, const Axis& operand) {
  if (operand.empty()) return true;
  if (!result.empty()) return unify(result, operand);
  result = operand;
  return true;
}

// ---- nodes ----

bool AxisParts::visit(const Node& n, Axes& result) {
  using graph::Op;
  switch (n.op) {
    case Op::input:
    case Op::scalar:
    case Op::constant:
    case Op::iota:
    case Op::extent:
    case Op::rand: result = fresh(n.shape); return true;
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
      result[axis] = fresh(n.shape[axis]);
      return true;
    }
    case Op::materialize: result = operand(n, 0); return true;
    case Op::window:
      result = operand(n, 0);
      result[static_cast<std::size_t>(n.axes[0])] = fresh(n.shape[static_cast<std::size_t>(n.axes[0])]);
      result.push_back(fresh(n.shape.back()));
      return true;
    case Op::concat: return visit_concat(n, result);
    case Op::reduce:
      if (n.kind == graph::Combine::argmax || n.kind == graph::Combine::argmin || n.kind == graph::Combine::combine) return false;
      for (std::size_t axis = 0; axis < operand(n, 0).size(); ++axis) {
        const bool is_reduced = std::find(n.axes.begin(), n.axes.end(), static_cast<int>(axis)) != n.axes.end();
        if (!is_reduced || n.keep_dims) result.push_back(is_reduced ? Axis() : operand(n, 0)[axis]);
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

bool AxisParts::visit_map(const Node& n, Axes& result) {
  result.resize(n.shape.size());
  for (std::size_t i = 0; i < n.operands.size(); ++i) {
    const Axes& x = operand(n, i);
    const std::size_t missing = result.size() - x.size();
    for (std::size_t axis = 0; axis < x.size(); ++axis)
      if (!unify_into(result[missing + axis], x[axis])) return false;
  }
  for (std::size_t axis = 0; axis < result.size(); ++axis)
    if (result[axis].empty()) result[axis] = fresh(n.shape[axis]);
  return true;
}

bool AxisParts::visit_reshape(const Node& n, Axes& result) {
  Axis rest;  // the parts that are left, the next one last
  for (const Axis& axis : operand(n, 0)) rest.insert(rest.end(), axis.begin(), axis.end());
  std::reverse(rest.begin(), rest.end());
  for (const Dim& extent : n.shape) {
    Axis& axis = result.emplace_back();
    for (Dim wanted = extent; !is_one(wanted);) {
      if (rest.empty()) return false;
      const Axis next = flat({rest.back()});
      rest.pop_back();
      rest.insert(rest.end(), next.rbegin(), next.rend());
      const Dim own = entries_[next[0]].extent;
      if (reshapes_ == Reshapes::keep_axes && own != extent) return false;
      if (const auto left = Dim::divide_exactly(wanted, own)) {
        axis.push_back(next[0]);
        rest.pop_back();
        wanted = *left;
      } else if (Dim::divide_exactly(own, wanted)) {
        divide(next[0], wanted);
      } else {
        return false;
      }
    }
  }
  return rest.empty();
}

bool AxisParts::visit_concat(const Node& n, Axes& result) {
  const auto along = static_cast<std::size_t>(n.axes[0]);
  result.resize(n.shape.size());
  for (std::size_t i = 0; i < n.operands.size(); ++i)
    for (std::size_t axis = 0; axis < result.size(); ++axis)
      if (axis != along && !unify_into(result[axis], operand(n, i)[axis])) return false;
  result[along] = fresh(n.shape[along]);
  return true;
}

bool AxisParts::visit_einsum(const Node& n, Axes& result) {
  const graph::Equation equation = graph::parse_equation(n.text, false).equation;
  std::map<char, Axis> labels;
  for (std::size_t i = 0; i < n.operands.size(); ++i) {
    std::string seen;
    for (std::size_t axis = 0; axis < equation.operands[i].size(); ++axis) {
      const char label = equation.operands[i][axis];
      if (seen.find(label) != std::string::npos) return false;  // a diagonal
      seen += label;
      if (!unify_into(labels[label], operand(n, i)[axis])) return false;
    }
  }
  for (char label : equation.result) result.push_back(labels[label]);
  return true;
}

// ---- reading ----

std::vector<std::vector<Dim>> AxisParts::of(NodeId n) const {
  std::vector<std::vector<Dim>> all;
  for (const Axis& axis : axes_[n.index]) {
    std::vector<Dim>& extents = all.emplace_back();
    for (Part p : flat(axis)) extents.push_back(entries_[p].extent);
  }
  return all;
}

std::size_t AxisParts::most() const {
  std::size_t most = 0;
  for (const Axes& axes : axes_) {
    std::size_t count = 0;
    for (const Axis& axis : axes) count += flat(axis).size();
    most = std::max(most, count);
  }
  return most;
}

}  // namespace tilewright::passes::search
