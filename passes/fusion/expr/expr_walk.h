// Walks over formulas: each expression is visited once, and no walk recurses.
//
// A formula is a graph, since an expression that is used several times is one object, and it may be deeper than a stack. The parts of an
// expression are its children, their children, and so on.
#pragma once
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "passes/fusion/expr/expr.h"
#include "passes/fusion/graph_walk.h"

namespace tilewright::passes::fusion {

// ---- operands first ----

/// Visits an expression and its parts, operands first. `enter` is called for each use of an expression. If it returns true, the parts of
/// the expression are entered, and then the expression is visited. It must not return true twice for one expression.
template <class Enter, class Visit>
void walk(Expr root, Enter enter, Visit visit) {
  visit_operands_first(root, children, std::move(enter), std::move(visit));
}

/// Visits an expression and its parts, operands first. Skips the expressions in `seen`, and adds to `seen` what it visits.
template <class Visit>
void walk(Expr root, ExprSet& seen, Visit visit) {
  walk(root, [&](Expr e) { return seen.insert(e).second; }, std::move(visit));
}

/// As above, but does not enter expressions for which `may_enter` is false.
template <class MayEnter, class Visit>
void walk(Expr root, ExprSet& seen, MayEnter may_enter, Visit visit) {
  walk(root, [&](Expr e) { return may_enter(e) && seen.insert(e).second; }, std::move(visit));
}

/// Derives a fact about an expression from the facts about its children. `known` maps expressions to facts. `decide` returns a fact that
/// needs no children, or none. `derive` returns the fact about the expression; those about its children are in `known`.
template <class Facts, class Decide, class Derive>
typename Facts::mapped_type known_fact(Expr root, Facts& known, Decide decide, Derive derive) {
  const auto enter = [&](Expr e) {
    if (known.contains(e)) return false;
    const std::optional<typename Facts::mapped_type> decided = decide(e);
    if (decided) known.emplace(e, *decided);
    return !decided;
  };
  if (const auto at = known.find(root); at != known.end()) return at->second;
  walk(root, enter, [&](Expr e) { known.emplace(e, derive(e)); });
  return known.at(root);
}

// ---- from the outside in, and from left to right ----

/// Visits the root, and then each expression that `visit` adds to `next`.
template <class Visit>
void walk_along(Expr root, Visit visit) {
  std::vector<Expr> open{root}, next;
  while (!open.empty()) {
    const Expr e = open.back();
    open.pop_back();
    visit(e, next);
    open.insert(open.end(), next.rbegin(), next.rend());
    next.clear();
  }
}

/// `enter` is called for each use of an expression, and returns whether to enter its parts. It must not return true twice for one
/// expression.
template <class Enter>
void walk_inwards(Expr root, Enter enter) {
  walk_along(root, [&](Expr e, std::vector<Expr>& next) {
    if (enter(e)) next.insert(next.end(), children(e).begin(), children(e).end());
  });
}

/// Visits an expression and its parts. Skips the expressions in `seen`, and adds to `seen` what it visits. `visit` returns whether to visit
/// the parts.
template <class Visit>
void walk_inwards(Expr root, ExprSet& seen, Visit visit) {
  walk_inwards(root, [&](Expr e) { return seen.insert(e).second && visit(e); });
}

/// As above, but does not enter expressions for which `may_enter` is false.
template <class MayEnter, class Visit>
void walk_inwards(Expr root, ExprSet& seen, MayEnter may_enter, Visit visit) {
  walk_inwards(root, [&](Expr e) { return may_enter(e) && seen.insert(e).second && visit(e); });
}

/// Adds the expressions of a kind to `found`. Skips the expressions in `seen`.
void collect(Expr root, ExprKind, ExprSet& seen, std::vector<Expr>& found);
std::vector<Expr> collect(Expr root, ExprKind);

// ---- until an expression decides ----

/// Whether a property holds for an expression and for all expressions on which that depends: `holds` tests one expression, and adds those
/// for which the property must hold too.
template <class Holds>
bool all_hold(Expr root, Holds holds) {
  ExprSet seen;
  std::vector<Expr> open{root};
  while (!open.empty()) {
    const Expr e = open.back();
    open.pop_back();
    if (seen.insert(e).second && !holds(e, open)) return false;
  }
  return true;
}

/// The first expression, from the outside in and from left to right, that passes a test; none if there is none. Only parts of expressions
/// for which `may_hold` is true are tested.
template <class Test, class MayHold>
Expr find_first(Expr root, Test test, MayHold may_hold) {
  ExprSet seen;
  std::vector<Expr> open{root};
  while (!open.empty()) {
    const Expr e = open.back();
    open.pop_back();
    if (test(e)) return e;
    if (!may_hold(e) || !seen.insert(e).second) continue;
    const Children inside = children(e);
    for (std::size_t i = inside.size(); i-- > 0;) open.push_back(inside[i]);
  }
  return {};
}
template <class Test>
Expr find_first(Expr root, Test test) {
  return find_first(root, std::move(test), [](Expr) { return true; });
}

/// Whether an expression or one of its parts passes a test. Only parts of expressions for which `may_hold` is true are tested.
template <class Test, class MayHold>
bool any_of(Expr root, Test test, MayHold may_hold) {
  return static_cast<bool>(find_first(root, std::move(test), std::move(may_hold)));
}
template <class Test>
bool any_of(Expr root, Test test) {
  return static_cast<bool>(find_first(root, std::move(test)));
}

/// Whether `inner` is `outer` or a part of it. References count as parts.
bool contains(Expr outer, Expr inner);

}  // namespace tilewright::passes::fusion
