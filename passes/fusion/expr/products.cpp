// Groups factors by the axes of the result that they have.
#include "passes/fusion/expr/products.h"

#include <algorithm>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/stored_tensor.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

bool is_product(const std::vector<Factor>& factors, const AxisSet& along) {
  const auto varies = [&](const Factor& f) { return f.base->axes.intersects(along); };
  AxisSet all;
  for (const Factor& f : factors)
    if (varies(f)) all.insert(f.base->axes.without(along));
  return !all.empty() &&
         std::none_of(factors.begin(), factors.end(), [&](const Factor& f) { return varies(f) && f.base->axes.contains(all); });
}

bool is_product(Expr e, const ExprBuilder& b) {
  return e->is(ExprKind::reduce) && e->combine == graph::Combine::sum && is_product(b.factors(e->operands[0]), e->bound);
}

// Each operand of a product varies along the summed axes, and lacks an axis of the other one. An operand is made of values that are added and
// multiplied; some of them vary along the summed axes, the others do not. So a sum is not a product if the values that vary have the same axes or
// contain each other's, and each of them has all axes of the values that do not vary.
bool may_become_product(Expr e, const AxisSet& along) {
  std::vector<AxisSet> sets;
  AxisSet others;
  std::size_t visited = 0;
  const bool is_chain = all_hold(e, [&](Expr x, std::vector<Expr>& parts) {
    if (++visited > kMostValuesOfProduct) return false;
    if (!x->axes.intersects(along)) {
      others.insert(x->axes);
      return true;
    }
    const bool is_multiplied_out =
        x->is(ExprKind::add) || x->is(ExprKind::mul) || x->is(ExprKind::exp) || x->is(ExprKind::select) || x->is(ExprKind::conjunction);
    if (is_multiplied_out) {
      // What multiplies the whole body leaves the sum.
      for (Expr part : children(x))
        if (x != e || !x->is(ExprKind::mul) || part->axes.intersects(along)) parts.push_back(part);
      return true;
    }
    if (std::find(sets.begin(), sets.end(), x->axes) == sets.end()) sets.push_back(x->axes);
    return std::all_of(sets.begin(), sets.end(), [&](const AxisSet& set) { return set.contains(x->axes) || x->axes.contains(set); });
  });
  return !is_chain || !std::all_of(sets.begin(), sets.end(), [&](const AxisSet& set) { return set.contains(others); });
}

AxisSet batch_axes(const std::vector<Factor>& factors, const AxisSet& along) {
  AxisSet axes;
  for (const Factor& f : factors) axes.insert(f.base->axes.without(along));
  for (const Factor& f : factors)
    if (f.base->axes.intersects(along)) axes = axes.common(f.base->axes);
  return axes;
}

Operands operands_of(const std::vector<Factor>& factors, const AxisSet& along, const std::function<bool(Axis)>& counts,
                     const AxisSet& batch) {
  Operands found;
  for (const Factor& f : factors) {
    Operand own{{}, {f}};
    for (Axis a : f.base->axes.without(along))
      if (!counts || counts(a)) own.axes.insert(a);
    if (own.axes.empty()) {
      found.common.push_back(f);
      continue;
    }
    const AxisSet connecting = own.axes.without(batch);
    std::erase_if(found.operands, [&](const Operand& other) {
      if (!other.axes.intersects(connecting)) return false;
      own.axes.insert(other.axes);
      own.factors.insert(own.factors.end(), other.factors.begin(), other.factors.end());
      return true;
    });
    found.operands.push_back(std::move(own));
  }
  return found;
}

namespace {

// Whether the value was written under the mask.
bool may_hide(const Factor& mask, const Factor& value) {
  return !is_mask(value) && finiteness(value) != Finite::always &&
         (mask.base->hides.contains(value.base->axes) || mask.base->axes == value.base->axes);
}

bool hides_any(const Factor& mask, const std::vector<Factor>& values) {
  return std::any_of(values.begin(), values.end(), [&](const Factor& f) { return may_hide(mask, f); });
}

}  // namespace

// A partial result of a divided loop is not known to be made of any tensor, and counts as hidden.
bool hides(const Factor& mask, const Factor& f) {
  const Finite known = finiteness(f);
  const std::optional<std::vector<Tensor>>& hidden = mask.base->hidden_tensors;
  if (known == Finite::unknown || known == Finite::always || !hidden) return known != Finite::unknown;
  const auto is_listed = [&](Tensor t) { return std::ranges::find(*hidden, t) != hidden->end(); };
  const auto is_hidden = [&](Tensor t) {
    if (t->node.valid()) return is_listed(t);
    return t->made_of.empty() ? !hidden->empty() : std::ranges::any_of(t->made_of, is_listed);
  };
  return std::ranges::any_of(tensors_of(f.base), is_hidden);
}

bool has_exposed_factors(Expr product) {
  return std::ranges::any_of(product->factors, [](const Factor& f) { return is_mask(f) && f.base->hidden_tensors.has_value(); });
}

// Factors of more than kMostValuesOfProduct parts count as untested.
bool tests(const Factor& mask, const Factor& f) {
  if (f.base->is(ExprKind::extent) || finiteness(f) == Finite::always || !mask.base->holds(ExprKind::load) || !hides(mask, f)) return false;
  const std::vector<Tensor> tested = tensors_of(mask.base);
  const Expr condition = mask.base->operands[0];
  bool is_found = false;
  std::size_t visited = 0;
  const bool is_separate = all_hold(f.base, [&](Expr x, std::vector<Expr>& parts) {
    if (x == condition || ++visited > kMostValuesOfProduct) return false;
    is_found = is_found || (x->is(ExprKind::load) && std::ranges::find(tested, x->tensor) != tested.end());
    parts.insert(parts.end(), children(x).begin(), children(x).end());
    return true;
  });
  return is_separate && is_found;
}

PlacedFactors placed_factors(const Operands& given, ExprBuilder& b) {
  PlacedFactors placed{{given.operands[0].factors, given.operands[1].factors}, {}};
  for (const Factor& f : given.common) {
    if (is_mask(f)) continue;
    const auto is_hidden = [&](const Factor& other) { return is_mask(other) && may_hide(other, f); };
    const std::vector<Factor>& second = given.operands[1].factors;
    placed.factors[std::any_of(second.begin(), second.end(), is_hidden) ? 1 : 0].push_back(f);
  }
  for (const Factor& f : given.common) {
    if (!is_mask(f)) continue;
    const bool second = hides_any(f, placed.factors[1]);
    if (second) placed.factors[1].push_back(f);
    if (!second || hides_any(f, placed.factors[0])) placed.factors[0].push_back(f);
  }
  for (const int i : {0, 1})
    for (const Factor& f : given.operands[i].factors)
      if (is_mask(f) && hides_any(f, placed.factors[1 - i])) placed.guards[i].push_back(f);
  for (auto* all : {&placed.factors, &placed.guards})
    for (std::vector<Factor>& own : *all)
      for (Factor& f : own)
        if (is_mask(f)) f.base = b.indicator(f.base->operands[0], f.base->element);
  return placed;
}

std::optional<MaskedLoad> masked_load(const ExprBuilder& b, const std::vector<Factor>& factors) {
  const auto found = std::find_if(factors.begin(), factors.end(), [](const Factor& f) { return f.base->is(ExprKind::load); });
  if (found == factors.end() || !found->exponent.is_one()) return std::nullopt;
  const Expr load = found->base;
  MaskedLoad all{load, {}};
  const std::vector<Axis> contiguous = contiguous_axes(b, load->tensor, load->operands);
  for (const Factor& f : factors) {
    if (&f == &*found) continue;
    if (!is_mask(f) || !hides(f, *found) || !load->axes.contains(f.base->axes)) return std::nullopt;
    if (std::any_of(contiguous.begin(), contiguous.end(), [&](Axis a) { return f.base->axes.contains(a); })) return std::nullopt;
    const bool is_of_positions = all_hold(f.base->operands[0], [](Expr e, std::vector<Expr>& parts) {
      parts.insert(parts.end(), children(e).begin(), children(e).end());
      return e->is(ExprKind::index) || e->is(ExprKind::extent) || e->is(ExprKind::number) || e->is(ExprKind::add) || e->is(ExprKind::mul) ||
             e->is(ExprKind::at_least_zero) || e->is(ExprKind::equal) || e->is(ExprKind::conjunction) || e->is(ExprKind::negation);
    });
    if (!is_of_positions) return std::nullopt;
    const std::vector<Expr> own = conjuncts(f.base->operands[0]);
    all.conditions.insert(all.conditions.end(), own.begin(), own.end());
  }
  return all;
}

bool is_exact_in_tf32(const std::vector<Factor>& factors) {
  const auto is_narrow_load = [](const Factor& f) {
    return f.base->is(ExprKind::load) && ir::is_float(f.base->tensor->element) && ir::bits(f.base->tensor->element) < 32 &&
           f.exponent.is_one();
  };
  return std::all_of(factors.begin(), factors.end(), [&](const Factor& f) { return is_mask(f) || is_narrow_load(f); }) &&
         std::count_if(factors.begin(), factors.end(), is_narrow_load) <= 1;
}

ContainedReductions::Facts ContainedReductions::facts(Expr e) {
  return known_fact(
      e, known_, [](Expr x) { return x->holds(ExprKind::reduce) ? std::nullopt : std::optional(Facts()); },
      [&](Expr x) {
        Facts all{is_product(x, b_), x->is(ExprKind::reduce)};
        for (Expr part : children(x)) {
          const Facts& inside = known_.at(part);
          all.holds_product = all.holds_product || inside.holds_product;
          all.holds_reduction = all.holds_reduction || inside.holds_reduction;
        }
        return all;
      });
}

}  // namespace tilewright::passes::fusion
