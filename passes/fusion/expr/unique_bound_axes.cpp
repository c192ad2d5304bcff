// Renames bound axes.
#include "passes/fusion/expr/unique_bound_axes.h"

#include <string>

namespace tilewright::passes::fusion {

Axis UniqueBoundAxes::own(Axis a) {
  if (const auto known = own_.find(a); known != own_.end()) return known->second;
  std::string name = a->name + "'";
  while (b_.pool().find_axis(name)) name += "'";
  return own_[a] = b_.pool().axis(name, a->extent, label_again(a->label));
}

// Inner reductions come first: those over the same axis get the same new names, to which the outer one's body refers.
Expr UniqueBoundAxes::renamed(Expr e, Axis a, ExprMap& done) {
  if (const auto at = done.find(e); at != done.end()) return at->second;
  done.emplace(e, e);
  for (Expr x : children(e)) renamed(x, a, done);
  if (!e->is(ExprKind::reduce) || !e->bound.contains(a)) return e;
  ExprMap inside{{b_.index(a), b_.index(own(a))}};
  for (const auto& [from, to] : done)
    if (from != to) inside.emplace(from, to);
  const Expr body = b_.substitute(e->operands[0], inside);
  AxisSet bound = e->bound.without({a});
  bound.insert({own(a)});
  const Expr result = e->combine == graph::Combine::combine ? b_.reduce_by(b_.pool().function(e->fold().function), own(a), body)
                                                            : b_.reduce(e->combine, bound, body, e->operand_element, e->element);
  b_.pool().copy_sources(e, result);
  return done[e] = result;
}

Expr UniqueBoundAxes::apply(Expr value, Axis loop) {
  for (Axis a : AxisSet(value->axes)) {
    if (a == loop) continue;
    ExprMap done;
    renamed(value, a, done);
    ExprMap changed;
    for (const auto& [from, to] : done)
      if (from != to) changed.emplace(from, to);
    if (!changed.empty()) value = b_.substitute(value, changed);
  }
  return value;
}

}  // namespace tilewright::passes::fusion
