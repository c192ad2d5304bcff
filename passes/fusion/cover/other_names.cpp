// Finds axes by their names, and renames them in reductions from inside out.
#include "passes/fusion/cover/other_names.h"

#include <string>

#include "passes/fusion/expr/expr_walk.h"

namespace tilewright::passes::fusion {

// The names of an axis differ in the number of primes behind them (GraphToExprs): n, n', n''.
std::vector<SwappedAxes> swappable_axes(const ExprPool& pool, Expr value) {
  std::vector<SwappedAxes> all;
  if (value->holds(ExprKind::scan)) return all;
  for (Axis a : value->axes) {
    std::string name = a->name;
    while (name.ends_with('\'')) name.pop_back();
    for (Axis other = pool.find_axis(name); other; other = pool.find_axis(other->name + "'"))
      if (!value->axes.contains(other) && other->extent == a->extent) all.push_back({a, other});
  }
  return all;
}

Expr with_swapped(ExprBuilder& b, Expr value, const SwappedAxes& axes) {
  const ExprMap names{{b.index(axes.own), b.index(axes.other)}, {b.index(axes.other), b.index(axes.own)}};
  ExprMap renamed = names;
  ExprSet seen;
  walk(value, seen, [&](Expr e) {
    if (!e->is(ExprKind::reduce)) return;
    AxisSet bound;
    for (Axis a : e->bound) bound.insert(a == axes.own ? axes.other : a == axes.other ? axes.own : a);
    const Expr body = b.substitute(e->operands[0], renamed);
    if (body == e->operands[0] && bound == e->bound) return;
    renamed[e] = e->combine == graph::Combine::combine ? b.reduce_by(b.pool().function(e->fold().function), *bound.begin(), body)
                                                       : b.reduce(e->combine, bound, body, e->operand_element, e->element);
    b.pool().copy_sources(e, renamed[e]);
  });
  return b.substitute(value, renamed);
}

}  // namespace tilewright::passes::fusion
