// Visits an output from outside in, and rebuilds the expressions that contain stored values.
#include "passes/fusion/cover/stored_values.h"

#include <algorithm>
#include <iterator>

#include "passes/fusion/cover/read_stored.h"
#include "passes/fusion/cover/replace_factors.h"
#include "passes/fusion/expr/expr_walk.h"

namespace tilewright::passes::fusion {

using graph::Combine;

Expr StoredValues::store_combined(Expr root, Axis loop, Combined which, ExprMap& stored) {
  ExprMap replaced;
  ExprSet seen;
  walk_inwards(root, seen, [&](Expr e) {
    if (!held_.holds_reduction(e)) return false;
    if (!e->is(ExprKind::reduce) || e->combine == Combine::combine) return true;
    auto [operands, common] = operands_apart(b_, e);
    operands.push_back({{}, common});
    std::vector<Factor> removed, loads;
    for (const Operand& operand : operands) {
      std::vector<Factor> own;
      std::copy_if(operand.factors.begin(), operand.factors.end(), std::back_inserter(own), [&](const Factor& f) {
        return held_.holds_reduction(f.base) && (which == Combined::outermost || !f.base->axes.contains(loop));
      });
      if (own.empty()) continue;
      const Expr value = b_.multiply(1, own);
      stored[value] = load_of_(value);
      loads.push_back({stored[value], 1});
      removed.insert(removed.end(), own.begin(), own.end());
    }
    if (loads.empty()) return true;
    replaced[e] = with_body(b_, e, replace_factors(b_, e->operands[0], removed, loads));
    b_.pool().copy_sources(e, replaced[e]);
    return false;
  });
  return replaced.empty() ? root : read_stored(b_, held_, b_.substitute(root, replaced), stored);
}

Expr StoredValues::store_reductions(Expr root, Reductions which, ExprMap& stored, Axis loop) {
  ExprMap replaced;
  ExprSet seen;
  const std::function<void(Expr, bool)> visit = [&](Expr e, bool is_inside) {
    if (!seen.insert(e).second) return;
    if (e->is(ExprKind::reduce) && e != root) {
      const bool is_stored = which == Reductions::of_other_loops
                                 ? !is_inside && !e->bound.contains(loop) && !e->axes.contains(loop)
                                 : is_inside || (which == Reductions::all && (root->is(ExprKind::reduce) || !e->axes.empty()));
      if (is_stored) {
        stored[e] = load_of_(e);
        replaced[e] = stored[e];
        return;
      }
    }
    for (Expr x : children(e)) visit(x, is_inside || e->is(ExprKind::reduce));
  };
  visit(root, false);
  return replaced.empty() ? root : b_.substitute(root, replaced);
}

Expr StoredValues::store_outermost(Expr root, ExprMap& stored) {
  std::vector<Expr> found;
  ExprSet seen;
  const std::function<void(Expr)> visit = [&](Expr e) {
    if (!held_.holds_reduction(e) || !seen.insert(e).second) return;
    if (e->is(ExprKind::reduce) && e != root) {
      found.push_back(e);
    } else {
      for (Expr x : children(e)) visit(x);
    }
  };
  visit(root);
  const auto is_part = [](Expr part, Expr whole) {
    return part->combine == whole->combine && part->combine != Combine::combine && part->operands[0] == whole->operands[0] &&
           part->element == whole->element && part->bound.size() < whole->bound.size() && whole->bound.contains(part->bound);
  };
  ExprMap replaced;
  for (Expr e : found) {
    Expr value = e;
    for (Expr part : found)
      if (is_part(part, e) && (value == e || part->bound.size() > e->bound.size() - value->bound.size()))
        value = b_.reduce(e->combine, e->bound.without(part->bound), load_of_(part), e->operand_element, e->element);
    stored[value] = replaced[e] = load_of_(value);
  }
  return replaced.empty() ? root : b_.substitute(root, replaced);
}

}  // namespace tilewright::passes::fusion
