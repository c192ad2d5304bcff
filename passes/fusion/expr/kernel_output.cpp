// Collects the reductions of outputs.
#include "passes/fusion/expr/kernel_output.h"

#include <algorithm>

#include "passes/fusion/expr/expr_walk.h"

namespace tilewright::passes::fusion {

bool KernelOutput::has(Axis a) const {
  return value->axes.contains(a) || std::any_of(index.begin(), index.end(), [a](Expr i) { return i->axes.contains(a); });
}

Dim elements_written(const KernelOutput& o) {
  AxisSet axes;
  for (Expr i : o.index) axes.insert(i->axes);
  Dim count = 1;
  for (Axis a : axes) count = count * a->extent;
  return count;
}

std::vector<Expr> reductions_over(Axis axis, const std::vector<KernelOutput>& outputs) {
  ExprSet seen;
  std::vector<Expr> found;
  const auto visit = [&](Expr e) {
    if (e->is(ExprKind::reduce) && (!axis || e->bound.contains(axis))) found.push_back(e);
  };
  for (const KernelOutput& o : outputs) walk(o.value, seen, [](Expr e) { return e->holds(ExprKind::reduce); }, visit);
  return found;
}

std::vector<Axis> bound_axes(const std::vector<KernelOutput>& outputs) {
  AxisSet all;
  for (Expr r : reductions_over(nullptr, outputs)) all.insert(r->bound);
  return {all.begin(), all.end()};
}

}  // namespace tilewright::passes::fusion
