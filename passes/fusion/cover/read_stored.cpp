// Finds stored values, also as terms of sums and factors of products.
#include "passes/fusion/cover/read_stored.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "passes/fusion/expr/expr_walk.h"

namespace tilewright::passes::fusion {

namespace {

// A sum that contains a multiple of the stored one.
std::optional<Expr> sum_with_load(ExprBuilder& b, Expr e, Expr value, Expr load) {
  std::vector<Term> left = e->terms;
  std::optional<Rational> multiple;
  for (const Term& t : value->terms) {
    const auto at = std::find_if(left.begin(), left.end(), [&](const Term& x) { return x.value == t.value; });
    if (at == left.end() || t.coefficient.is_zero() || (multiple && *multiple * t.coefficient != at->coefficient)) return std::nullopt;
    multiple = at->coefficient / t.coefficient;
    left.erase(at);
  }
  left.push_back({*multiple, load});
  return b.add_terms(left);
}

std::optional<Expr> product_with_load(ExprBuilder& b, Expr e, Expr value, Expr load) {
  if (e->number.is_zero() || value->number.is_zero()) return std::nullopt;
  std::vector<Factor> left = e->factors;
  for (const Factor& f : value->factors) {
    const auto at = std::find(left.begin(), left.end(), f);
    if (at == left.end()) return std::nullopt;
    left.erase(at);
  }
  left.push_back({load, 1});
  return b.multiply(e->number / value->number, left);
}

// A sum that contains the terms of the value, or a product that contains its factors, with the load in their place; none for others.
std::optional<Expr> with_load(ExprBuilder& b, Expr e, Expr value, Expr load) {
  if (e->kind != value->kind || e->element != value->element || ir::is_integer(e->element)) return std::nullopt;
  try {
    if (e->is(ExprKind::add)) return sum_with_load(b, e, value, load);
    if (e->is(ExprKind::mul)) return product_with_load(b, e, value, load);
  } catch (const ir::RationalOverflow&) {
  }
  return std::nullopt;
}

// The values with their loads, also along other names of one of their axes.
ExprMap by_all_names(ExprBuilder& b, Expr output, const ExprMap& stored) {
  ExprMap loads;
  for (const auto& [value, load] : stored) {
    if (value == output) continue;
    loads.emplace(value, load);
    for (Axis a : value->axes)
      for (Axis other = b.pool().find_axis(a->name + "'"); other; other = b.pool().find_axis(other->name + "'")) {
        const ExprMap names{{b.index(a), b.index(other)}};
        loads.emplace(b.substitute(value, names), b.substitute(load, names));
      }
  }
  return loads;
}

}  // namespace

Expr read_stored(ExprBuilder& b, ContainedReductions& held, Expr output, const ExprMap& stored) {
  const ExprMap loads = by_all_names(b, output, stored);
  for (;;) {
    ExprMap replaced;
    ExprSet seen;
    walk_inwards(output, seen, [&](Expr e) {
      if (!held.holds_reduction(e) || is_product(e, b)) return false;
      if (const auto known = loads.find(e); known != loads.end()) {
        replaced.insert(*known);
        return false;
      }
      for (const auto& [value, load] : loads)
        if (const std::optional<Expr> other = with_load(b, e, value, load)) {
          replaced.emplace(e, *other);
          return false;
        }
      return true;
    });
    if (replaced.empty()) return output;
    output = b.substitute(output, replaced);
  }
}

}  // namespace tilewright::passes::fusion
