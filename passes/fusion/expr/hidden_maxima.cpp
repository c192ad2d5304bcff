// Finds guards in formulas, and where they follow from other factors.
#include "passes/fusion/expr/hidden_maxima.h"

#include <algorithm>

#include "passes/fusion/expr/expr_facts.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/magnitude.h"
#include "passes/fusion/thresholds.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using ir::OpKind;

// Whether a value is a maximum, or a positive multiple of one, that may be -inf: because its elements may be -inf, or because it is chosen
// from masked values or from other such maxima.
bool may_be_hidden(const ExprBuilder& b, Expr value) {
  if (!is_maximum(b.split_coefficient(value).value) || !ir::is_float(value->element)) return false;
  return all_hold(value, [&](Expr e, std::vector<Expr>& parts) {
    const auto [c, chosen] = b.split_coefficient(e);
    if (c <= Rational(0)) return false;
    if (is_masked(chosen)) return true;
    if (!is_maximum(chosen)) return false;
    if (chosen->is(ExprKind::reduce)) return chosen->finite != Finite::always;
    parts.insert(parts.end(), chosen->operands.begin(), chosen->operands.end());
    return true;
  });
}

bool subtracts(ExprBuilder& b, Expr exponent, Expr maximum) {
  const std::vector<Expr> all = subtracted_maxima(b, exponent);
  return std::find(all.begin(), all.end(), maximum) != all.end();
}

// Whether a value is 0, or not finite, where the maximum is -inf, since it is a sum of exponentials that subtract it. `is_divisor`: it must be 0 or
// NaN, so the exponentials must be of values that are at most the maximum.
class Vanishing {
 public:
  Vanishing(ExprBuilder& b, Expr maximum, bool is_divisor) : b_(b), maximum_(maximum), is_divisor_(is_divisor) {}

  bool operator()(Expr value, int depth = kMostNestedSums) {
    if (depth == 0) return false;
    const auto inner = [&](Expr e) { return (*this)(e, depth - 1); };
    switch (value->kind) {
      case ExprKind::number: return value->number.is_zero();
      case ExprKind::exp: return is_small(value, {});
      case ExprKind::add: return std::all_of(value->terms.begin(), value->terms.end(), [&](const Term& t) { return inner(t.value); });
      case ExprKind::mul: {
        const std::vector<Expr> conditions = conditions_of(value->factors);
        return std::any_of(value->factors.begin(), value->factors.end(), [&](const Factor& f) {
          if (f.exponent.is_negative()) return false;
          return f.base->is(ExprKind::exp) ? is_small(f.base, conditions) : inner(f.base);
        });
      }
      case ExprKind::select: return inner(value->operands[1]) && inner(value->operands[2]);
      case ExprKind::reduce: return value->combine == Combine::sum && inner(value->operands[0]);
      default: return false;
    }
  }

 private:
  bool is_small(Expr exponential, const std::vector<Expr>& conditions) {
    const Expr u = exponential->operands[0];
    return subtracts(b_, u, maximum_) && (!is_divisor_ || is_exp_at_most_one(b_, u, conditions));
  }

  ExprBuilder& b_;
  Expr maximum_;
  bool is_divisor_;
};

}  // namespace

std::optional<Expr> hidden_maximum(const ExprBuilder& b, Expr value) {
  if (may_be_hidden(b, value)) return value;
  if (!value->is(ExprKind::mul)) return std::nullopt;
  std::optional<Expr> found;
  for (const Factor& f : value->factors) {
    if (f.base->is_positive) continue;
    if (found || !f.exponent.is_one() || !may_be_hidden(b, f.base)) return std::nullopt;
    found = f.base;
  }
  return found;
}

std::vector<Expr> subtracted_maxima(ExprBuilder& b, Expr exponent) {
  std::vector<Expr> found;
  for (const Term& t : b.terms(exponent))
    if (t.coefficient.is_negative())
      if (const std::optional<Expr> maximum = hidden_maximum(b, t.value)) found.push_back(*maximum);
  return found;
}

bool is_chosen_under(Expr maximum, std::span<const Expr> conditions) {
  const auto are_given = [&](Expr mask) {
    const std::vector<Expr> own = conjuncts(mask);
    return std::all_of(own.begin(), own.end(),
                       [&](Expr c) { return std::find(conditions.begin(), conditions.end(), c) != conditions.end(); });
  };
  bool is_found = false;
  ExprSet seen;
  walk_inwards(maximum, seen, [&](Expr e) {
    is_found = is_found || (is_masked(e) && are_given(e->operands[0]));
    return is_maximum(e);
  });
  return is_found;
}

Expr guard_of_infinity(ExprBuilder& b, Expr value) {
  const Expr x = b.maximum(value, b.one());
  return b.function(OpKind::div_, {x, x}, x->element);
}

Expr guard_of_maximum(ExprBuilder& b, Expr maximum) { return guard_of_infinity(b, b.scale(-1, maximum)); }

std::optional<Expr> guarded_maximum(ExprBuilder& b, Expr guard) {
  if (!is_guard_of_infinity(guard)) return std::nullopt;
  const std::vector<Expr>& limited = guard->operands[0]->operands;
  const auto [c, value] = b.split_coefficient(limited[limited[0]->is_number(1) ? 1 : 0]);
  const Expr maximum = b.scale(-c, value);
  return may_be_hidden(b, maximum) ? std::optional(maximum) : std::nullopt;
}

bool vanishes(ExprBuilder& b, std::span<const Factor> factors, Expr maximum) {
  Vanishing is_zero(b, maximum, true);
  return std::any_of(factors.begin(), factors.end(), [&](const Factor& f) { return !f.exponent.is_negative() && is_zero(f.base); });
}

bool implies_guard(ExprBuilder& b, std::span<const Factor> factors, Expr maximum) {
  Vanishing divides(b, maximum, true), multiplies(b, maximum, false);
  const auto is_divided = [&](const Factor& f) { return f.exponent.is_negative() && divides(f.base); };
  const auto is_multiplied = [&](const Factor& f) { return !f.exponent.is_negative() && multiplies(f.base); };
  return std::any_of(factors.begin(), factors.end(), is_divided) && std::any_of(factors.begin(), factors.end(), is_multiplied);
}

Expr without_guards_under(ExprBuilder& b, Expr product, Expr condition) {
  if (!product->is(ExprKind::mul)) return product;
  const std::vector<Expr> conditions = conjuncts(condition);
  std::vector<Factor> rest = product->factors;
  const auto is_superfluous = [&](const Factor& f) {
    const std::optional<Expr> maximum = guarded_maximum(b, f.base);
    return maximum && is_chosen_under(*maximum, conditions);
  };
  return std::erase_if(rest, is_superfluous) == 0 ? product : b.multiply(product->number, rest);
}

namespace {

// The guards of a sum: of the maxima that exponentials in its body subtract.
struct SumGuards {
  std::vector<Factor> inside, outside;  // factors of the body and of the sum
};

// A part of a sum's body, and the conditions under which it counts.
struct MaskedPart {
  Expr value;
  std::vector<Expr> conditions;
};

// Calls `visit` for each exponential that is a factor of a term of the body, also under masks.
template <class Visit>
void each_exponential(ExprBuilder& b, Expr body, Visit visit) {
  std::vector<MaskedPart> open{{body, {}}};
  for (int visited = 0; !open.empty() && visited < kMostGuardedParts; ++visited) {
    const auto [value, conditions] = open.back();
    open.pop_back();
    const auto add = [&](Expr part, const std::vector<Expr>& more) {
      open.push_back({part, conditions});
      open.back().conditions.insert(open.back().conditions.end(), more.begin(), more.end());
    };
    switch (value->kind) {
      case ExprKind::exp: visit(MaskedPart{value, conditions}); break;
      case ExprKind::add:
        for (const Term& t : value->terms) add(t.value, {});
        break;
      case ExprKind::mul: {
        const std::vector<Expr> masks = conditions_of(value->factors);
        for (const Factor& f : value->factors)
          if (!f.exponent.is_negative()) add(f.base, masks);
        break;
      }
      case ExprKind::select:
        add(value->operands[1], conjuncts(value->operands[0]));
        add(value->operands[2], conjuncts(b.negation(value->operands[0])));
        break;
      default: break;
    }
  }
}

SumGuards guards_of_sum(ExprBuilder& b, Expr body, const AxisSet& bound) {
  SumGuards guards;
  each_exponential(b, body, [&](const MaskedPart& part) {
    for (Expr p : subtracted_maxima(b, part.value->operands[0])) {
      if (p->axes.intersects(bound)) continue;
      std::vector<Expr> along, apart;
      for (Expr c : part.conditions) (c->axes.intersects(bound) ? along : apart).push_back(c);
      const bool is_whole = along.empty() || hold_somewhere(along, bound);
      const bool may_count_nowhere = !is_whole || !apart.empty();
      if (may_count_nowhere && (p->finite >= Finite::for_finite_data || is_chosen_under(p, part.conditions))) continue;
      const Expr guard = guard_of_maximum(b, p);
      if (is_whole)
        guards.outside.push_back({b.select(b.conjunction(apart), guard, b.one(), guard->element), 1});
      else
        guards.inside.push_back({b.select(b.conjunction(part.conditions), guard, b.one(), guard->element), 1});
    }
  });
  return guards;
}

}  // namespace

Expr guarded_sum(ExprBuilder& b, const AxisSet& bound, Expr body, const ProductElement& operand_element, ir::Element element) {
  SumGuards guards = guards_of_sum(b, body, bound);
  if (!guards.inside.empty()) {
    guards.inside.push_back({body, 1});
    body = b.multiply(1, guards.inside);
  }
  const Expr sum = b.reduce(Combine::sum, bound, body, operand_element, element);
  if (guards.outside.empty()) return sum;
  guards.outside.push_back({sum, 1});
  return b.select(b.have_positions(bound), b.multiply(1, guards.outside), b.zero(), sum->element);
}

}  // namespace tilewright::passes::fusion
