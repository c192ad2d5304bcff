// Makes tensors for values, and finds those that swapped axes make equal.
#include "passes/fusion/cover/value_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/fusion/cover/other_names.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/scans.h"
#include "passes/fusion/expr/stored_tensor.h"

namespace tilewright::passes::fusion {

void ValueTensors::know_output(const KernelOutput& o) {
  if (o.is_piece) return;
  AxisSet axes;
  for (Expr i : o.index) {
    if (i->is_number(0)) continue;
    if (!i->is(ExprKind::index) || axes.contains(i->axis)) return;
    axes.insert(i->axis);
  }
  if (axes != o.value->axes || o.tensor->element != o.value->element) return;
  Expr value = o.value, load = b_.load(o.tensor, o.index);
  if (value->is(ExprKind::scan) && value->operands[1]->is(ExprKind::index)) {
    if (value->operands[1]->axis->extent != (*value->bound.begin())->extent) return;  // a slice of the scan
    value = stored_scan(b_, o.value);
    load = b_.substitute(load, {{o.value->operands[1], value->operands[1]}});
  } else if (!held_.holds_reduction(value)) {
    return;
  }
  b_.pool().note_stored_value(load, value);
  if (loads_.emplace(value, load).second) outputs_.insert(value), started_.insert(value);
}

KernelOutput ValueTensors::output_of(Expr value) const {
  const Expr load = loads_.at(value);
  return {load->tensor->name, value, load->tensor, load->operands};
}

ExprMap ValueTensors::without_same(const ExprMap& stored) const {
  ExprMap once;
  for (const auto& [value, load] : stored) {
    const auto other = same_.find(value);
    const Expr one = other == same_.end() ? value : other->second;
    once.emplace(one, loads_.at(one));
  }
  return once;
}

bool ValueTensors::varies_like_known(Expr value, const SwappedAxes& swapped) const {
  AxisSet axes = value->axes.without({swapped.own});
  axes.insert(swapped.other);
  return std::any_of(loads_.begin(), loads_.end(), [&](const auto& known) { return known.first->axes == axes; });
}

Expr ValueTensors::load_of(Expr value) {
  if (const auto known = loads_.find(value); known != loads_.end()) return known->second;
  for (const SwappedAxes& swapped : swappable_axes(b_.pool(), value)) {
    if (!varies_like_known(value, swapped)) continue;
    const Expr other = with_swapped(b_, value, swapped);
    const auto known = loads_.find(other);
    if (known == loads_.end() || same_.contains(other)) continue;
    same_.emplace(value, other);
    const Expr load = with_swapped(b_, known->second, {swapped.other, swapped.own});
    b_.pool().note_stored_value(load, value);
    return loads_[value] = load;
  }
  std::string name = fmt::format("t{}", static_cast<std::size_t>(first_) + loads_.size());
  while (b_.pool().find_tensor(name)) name += "_";
  const Expr load = add_stored_tensor(b_, value, value->element, std::move(name));
  b_.pool().note_stored_value(load, value);
  loads_[value] = load;
  return load;
}

}  // namespace tilewright::passes::fusion
