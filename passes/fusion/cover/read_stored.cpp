// Finds stored values, also as terms of sums and factors of products.
#include "passes/fusion/cover/read_stored.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "passes/fusion/cover/other_names.h"
#include "passes/fusion/cover/replace_factors.h"
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
    return std::nullopt;
  } catch (const ir::RationalOverflow&) {
    return std::nullopt;
  }
}

// Whether a stored value may be a part of this expression, or be equal to it.
bool may_be_read(const ExprBuilder& b, ContainedReductions& held, Expr e) { return held.holds_reduction(e) && !is_product(e, b); }

// The axes along which the parts of an output vary in which stored values are looked for.
AxisSet axes_of_parts(const ExprBuilder& b, ContainedReductions& held, Expr output) {
  AxisSet axes;
  ExprSet seen;
  walk_inwards(output, seen, [&](Expr e) {
    if (!may_be_read(b, held, e)) return false;
    axes.insert(e->axes);
    return true;
  });
  return axes;
}

// The values with their loads, also along other names of one of their axes. `axes`: those that the output has.
ExprMap by_all_names(ExprBuilder& b, Expr output, const AxisSet& axes, const ExprMap& stored) {
  ExprMap loads;
  for (const auto& [value, load] : stored) {
    if (value == output) continue;
    loads.emplace(value, load);
    for (Axis a : value->axes)
      for (Axis other = b.pool().find_axis(a->name + "'"); other; other = b.pool().find_axis(other->name + "'")) {
        if (!axes.contains(other)) continue;
        const ExprMap names{{b.index(a), b.index(other)}};
        loads.emplace(b.substitute(value, names), b.substitute(load, names));
      }
  }
  return loads;
}

struct StoredValue {
  Expr value, load;
};

// The stored value under each choice of names that a reduction may have for its axes. An axis n of the value is n' in the reduction if the
// name n means another axis outside of the reduction. If the reduction has both n and n', the value may have either.
std::vector<StoredValue> by_names_in(ExprBuilder& b, Expr reduction, StoredValue stored) {
  const auto has = [&](Axis a) { return reduction->bound.contains(a) || reduction->axes.contains(a); };
  const auto swapped = [&](const StoredValue& s, const SwappedAxes& axes) {
    return StoredValue{with_swapped(b, s.value, axes), with_swapped(b, s.load, axes)};
  };
  for (Axis a : AxisSet(stored.value->axes))
    for (const SwappedAxes& axes : swappable_axes(b.pool(), stored.value))
      if (axes.own == a && !has(a) && has(axes.other)) {
        stored = swapped(stored, axes);
        break;
      }
  std::vector<StoredValue> all{stored};
  for (const SwappedAxes& axes : swappable_axes(b.pool(), stored.value))
    if (has(axes.other)) all.push_back(swapped(stored, axes));
  return all;
}

// Whether a stored reduction may be the other one, or a part of it, under some names of its axes.
bool may_be_part(Expr stored, Expr e) {
  if (stored->combine != e->combine || stored->element != e->element || stored->bound.size() > e->bound.size()) return false;
  return stored->bound.size() < e->bound.size() || stored->axes.size() == e->axes.size();
}

// A reduction over more axes than the stored one, of the same elements times factors that do not vary along the axes of the stored one:
// sum over n, k of (g[j] x[n, k] w[k, j]) is sum over n of (g[j] t[n, j]). None if it is another reduction.
std::optional<Expr> reduction_of_load(ExprBuilder& b, Expr e, Expr value, Expr load) {
  if (!value->is(ExprKind::reduce) || e->combine != value->combine || e->combine == graph::Combine::combine ||
      e->element != value->element || e->bound.size() <= value->bound.size() || !e->bound.contains(value->bound))
    return std::nullopt;
  const AxisSet outer = e->bound.without(value->bound);
  if (e->operands[0] == value->operands[0]) return b.reduce(e->combine, outer, load, e->operand_element, e->element);
  if (e->combine != graph::Combine::sum || ir::is_integer(e->element)) return std::nullopt;
  const std::vector<Factor> part = b.factors(value->operands[0]);
  // A mask may hide more beside a product than in a plain sum.
  const auto is_same = [](const Factor& x, const Factor& y) {
    return x == y || (x.exponent == y.exponent && x.base->is(ExprKind::indicator) && y.base->is(ExprKind::indicator) &&
                      x.base->operands[0] == y.base->operands[0]);
  };
  std::vector<Factor> own, rest;
  for (const Factor& f : b.factors(e->operands[0]))
    (std::any_of(part.begin(), part.end(), [&](const Factor& p) { return is_same(p, f); }) ? own : rest).push_back(f);
  // A mask outside of the stored reduction hides elements inside of it.
  const bool is_apart = std::none_of(
      rest.begin(), rest.end(), [&](const Factor& f) { return f.base->is(ExprKind::indicator) || f.base->axes.intersects(value->bound); });
  const auto has_number = [](Expr body) { return body->is(ExprKind::mul) && !(body->number == Rational(1)); };
  if (own.size() != part.size() || !is_apart || has_number(value->operands[0])) return std::nullopt;
  return b.reduce(e->combine, outer, replace_factors(b, e->operands[0], own, {{load, 1}}), e->operand_element, e->element);
}

}  // namespace

Expr reduce_stored(ExprBuilder& b, ContainedReductions& held, Expr output, const ExprMap& stored) {
  ExprMap replaced;
  ExprSet seen;
  walk_inwards(output, seen, [&](Expr e) {
    if (!held.holds_reduction(e)) return false;
    if (!e->is(ExprKind::reduce)) return true;
    for (const auto& [value, load] : stored) {
      if (!value->is(ExprKind::reduce) || !may_be_part(value, e)) continue;
      for (const StoredValue& named : by_names_in(b, e, {value, load}))
        if (const std::optional<Expr> other = e == named.value ? named.load : reduction_of_load(b, e, named.value, named.load)) {
          replaced.emplace(e, *other);
          b.pool().copy_sources(e, *other);
          return false;
        }
    }
    return true;
  });
  return replaced.empty() ? output : b.substitute(output, replaced);
}

Expr read_stored(ExprBuilder& b, ContainedReductions& held, Expr output, const ExprMap& stored) {
  const ExprMap loads = by_all_names(b, output, axes_of_parts(b, held, output), stored);
  for (;;) {
    ExprMap replaced;
    ExprSet seen;
    walk_inwards(output, seen, [&](Expr e) {
      if (!may_be_read(b, held, e)) return false;
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
