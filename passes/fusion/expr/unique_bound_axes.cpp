// Renames bound axes.
#include "passes/fusion/expr/unique_bound_axes.h"

#include <string>

#include "passes/fusion/expr/expr_walk.h"

namespace tilewright::passes::fusion {

Axis UniqueBoundAxes::own(Axis a) {
  if (const auto known = own_.find(a); known != own_.end()) return known->second;
  std::string name = a->name + "'";
  while (b_.pool().find_axis(name)) name += "'";
  return own_[a] = b_.pool().axis(name, a->extent, label_again(a->label));
}

// Inner reductions come first: those over the same axis get the same new names, to which the outer one's body refers.
ExprMap UniqueBoundAxes::renamed_reductions(Expr value, Axis a) {
  ExprMap renamed;
  ExprSet seen;
  walk(value, seen, [&](Expr e) {
    if (!e->is(ExprKind::reduce) || !e->bound.contains(a)) return;
    ExprMap inside = renamed;
    inside.emplace(b_.index(a), b_.index(own(a)));
    const Expr body = b_.substitute(e->operands[0], inside);
    AxisSet bound = e->bound.without({a});
    bound.insert({own(a)});
    const Expr result = e->combine == graph::Combine::combine ? b_.reduce_by(b_.pool().function(e->fold().function), own(a), body)
                                                              : b_.reduce(e->combine, bound, body, e->operand_element, e->element);
    b_.pool().copy_sources(e, result);
    if (result != e) renamed.emplace(e, result);
  });
  return renamed;
}

Expr UniqueBoundAxes::renamed(Expr value, Axis a) {
  AxisMap<Expr>& of_value = renamed_[value];
  if (const auto known = of_value.find(a); known != of_value.end()) return known->second;
  const ExprMap reductions = renamed_reductions(value, a);
  return of_value[a] = reductions.empty() ? value : b_.substitute(value, reductions);
}

Expr UniqueBoundAxes::apply(Expr value, Axis loop) {
  for (Axis a : AxisSet(value->axes))
    if (a != loop) value = renamed(value, a);
  return value;
}

}  // namespace tilewright::passes::fusion
