// Collects the reductions of outputs.
#include "passes/fusion/expr/kernel_output.h"

#include <algorithm>

namespace tilewright::passes::fusion {

namespace {

void collect_reductions(Expr e, Axis axis, ExprSet& seen, std::vector<Expr>& found) {
  if (!e->holds(ExprKind::reduce) || !seen.insert(e).second) return;
  for (Expr x : children(e)) collect_reductions(x, axis, seen, found);
  if (e->is(ExprKind::reduce) && (!axis || e->bound.contains(axis))) found.push_back(e);
}

}  // namespace

bool KernelOutput::has(Axis a) const {
  return value->axes.contains(a) || std::any_of(index.begin(), index.end(), [a](Expr i) { return i->axes.contains(a); });
}

std::vector<Expr> reductions_over(Axis axis, const std::vector<KernelOutput>& outputs) {
  ExprSet seen;
  std::vector<Expr> found;
  for (const KernelOutput& o : outputs) collect_reductions(o.value, axis, seen, found);
  return found;
}

std::vector<Axis> bound_axes(const std::vector<KernelOutput>& outputs) {
  AxisSet all;
  for (Expr r : reductions_over(nullptr, outputs)) all.insert(r->bound);
  return {all.begin(), all.end()};
}

}  // namespace tilewright::passes::fusion
