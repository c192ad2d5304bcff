// Collects expressions of one kind, and finds parts.
#include "passes/fusion/expr/expr_walk.h"

namespace tilewright::passes::fusion {

void collect(Expr root, ExprKind kind, ExprSet& seen, std::vector<Expr>& found) {
  const auto visit = [&](Expr e) {
    if (e->is(kind)) found.push_back(e);
    return true;
  };
  walk_inwards(root, seen, [&](Expr e) { return e->holds(kind); }, visit);
}

std::vector<Expr> collect(Expr root, ExprKind kind) {
  ExprSet seen;
  std::vector<Expr> found;
  collect(root, kind, seen, found);
  return found;
}

bool contains(Expr outer, Expr inner) {
  return any_of(outer, [&](Expr e) { return e == inner; }, [&](Expr e) { return e->height > inner->height; });
}

}  // namespace tilewright::passes::fusion
