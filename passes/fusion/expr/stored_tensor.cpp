// Chooses the memory layout of stored values.
#include "passes/fusion/expr/stored_tensor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "passes/fusion/expr/expr_facts.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/extents.h"
#include "passes/fusion/expr/scans.h"

namespace tilewright::passes::fusion {

namespace {

// The greatest distance in memory between neighbouring positions of each axis.
void note_distances(const ExprBuilder& b, Expr load, AxisMap<double>& distances) {
  for (std::size_t i = 0; i < load->operands.size(); ++i)
    for (const Term& t : b.terms(load->operands[i]))
      if (t.value->is(ExprKind::index)) {
        double& most = distances[t.value->axis];
        most = std::max(most, std::abs(t.coefficient.to_double()) * estimated_extent(load->tensor->strides[i]));
      }
}

// Each load votes for the axis along which it is contiguous, with the number of its elements as weight. A vote for the axis that a scan walks
// is one for the axis of the scan's position. Axes without votes are in the order of their distances in memory.
std::vector<Axis> memory_order(const ExprBuilder& b, Expr value) {
  AxisMap<double> votes, distances;
  AxisMap<Axis> positions;
  ExprSet seen;
  walk_inwards(value, seen, [&](Expr e) {
    if (e->is(ExprKind::load)) {
      for (Axis a : contiguous_axes(b, e->tensor, e->operands)) votes[a] += estimated_extent(e->axes);
      note_distances(b, e, distances);
    }
    if (e->is(ExprKind::scan) && e->operands[1]->is(ExprKind::index)) positions.emplace(*e->bound.begin(), e->operands[1]->axis);
    return !e->is_reference();
  });
  const AxisMap<double> of_loads = votes;
  for (const auto& [axis, elements] : of_loads) {
    Axis at = axis;
    AxisSet passed;
    for (auto next = positions.find(at); next != positions.end() && !passed.contains(at); next = positions.find(at)) {
      passed.insert(at);
      at = next->second;
    }
    if (at != axis) votes[at] += elements;
  }
  std::vector<Axis> axes(value->axes.begin(), value->axes.end());
  std::stable_sort(axes.begin(), axes.end(),
                   [&](Axis x, Axis y) { return std::pair(votes[x], -distances[x]) < std::pair(votes[y], -distances[y]); });
  return axes;
}

}  // namespace

std::vector<Axis> contiguous_axes(const ExprBuilder& b, Tensor tensor, const std::vector<Expr>& index) {
  std::vector<Axis> found;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (tensor->strides[i] != Dim(1)) continue;
    for (const Term& t : b.terms(index[i]))
      if (t.value->is(ExprKind::index) && t.coefficient.is_one()) found.push_back(t.value->axis);
  }
  return found;
}

Expr add_stored_tensor(ExprBuilder& b, Expr value, ir::Element element, std::string name) {
  TensorInfo info;
  info.name = std::move(name);
  info.element = element;
  info.is_nonnegative = value->is_nonnegative;
  info.is_positive = value->is_positive && ir::bits(element) >= ir::bits(computed(value->element));  // a narrow type may hold 0 for it
  info.finite = std::min(info.finite, value->finite);                                                // 1 / l may be infinite in memory too
  info.extremes = std::min(info.extremes, finite_extreme(value, {}));
  info.may_contain_logarithms = any_of(value, [](Expr e) { return e->is(ExprKind::log); });
  for (Tensor t : tensors_of(value)) {
    if (t->node.valid())
      info.made_of.push_back(t);
    else
      info.made_of.insert(info.made_of.end(), t->made_of.begin(), t->made_of.end());
  }
  std::ranges::sort(info.made_of, {}, &TensorInfo::name);
  info.made_of.erase(std::unique(info.made_of.begin(), info.made_of.end()), info.made_of.end());
  std::vector<Expr> index;
  const std::vector<Axis> axes = memory_order(b, value);
  for (Axis a : axes) info.shape.push_back(a->extent), index.push_back(b.index(a));
  info.strides = row_major(info.shape);
  const Expr load = b.load(b.pool().add_tensor(std::move(info)), std::move(index));
  b.pool().copy_sources(value, load);
  return load;
}

double stored_bytes(const AxisSet& axes, ir::Element e) { return estimated_extent(axes) * ir::bytes(e); }

std::vector<Dim> row_major(const graph::TensorShape& shape) {
  std::vector<Dim> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

}  // namespace tilewright::passes::fusion
