// Derives the sign, the finiteness and the axes of an expression.
#include "passes/fusion/expr/expr_facts.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "passes/fusion/expr/integer_range.h"

namespace tilewright::passes::fusion {

namespace {

// Whether the value is known to be at least 0 if it is a number.
bool compute_nonnegative(const ExprData& e) {
  const auto each_is = [](Expr x) { return x->is_nonnegative; };
  switch (e.kind) {
    case ExprKind::number:
    case ExprKind::infinity: return !e.number.is_negative();
    case ExprKind::constant: return std::bit_cast<double>(e.bits) >= 0;
    case ExprKind::extent:
    case ExprKind::index:
    case ExprKind::exp:
    case ExprKind::indicator:
    case ExprKind::random: return true;
    case ExprKind::load: return e.tensor->is_nonnegative;
    case ExprKind::add:
      return std::all_of(e.terms.begin(), e.terms.end(),
                         [](const Term& t) { return !t.coefficient.is_negative() && t.value->is_nonnegative; });
    case ExprKind::mul: return !e.number.is_negative() && std::all_of(e.factors.begin(), e.factors.end(), is_nonnegative);
    case ExprKind::function:
      return e.function == ir::OpKind::abs_ || (e.function == ir::OpKind::div_ && e.operands[0] == e.operands[1]) ||
             (e.function == ir::OpKind::maximum_ && std::any_of(e.operands.begin(), e.operands.end(), each_is));
    case ExprKind::select: return e.operands[1]->is_nonnegative && e.operands[2]->is_nonnegative;
    case ExprKind::reduce:
    case ExprKind::scan:
      return (e.combine == graph::Combine::sum || e.combine == graph::Combine::max || e.combine == graph::Combine::prod) &&
             e.operands[0]->is_nonnegative;
    default: return false;
  }
}

// Whether the value is made of numbers only.
bool compute_numeric(const ExprData& e) {
  switch (e.kind) {
    case ExprKind::number:
    case ExprKind::constant: return true;
    case ExprKind::exp:
    case ExprKind::log: return e.operands[0]->is_numeric;
    case ExprKind::add: return std::all_of(e.terms.begin(), e.terms.end(), [](const Term& t) { return t.value->is_numeric; });
    case ExprKind::mul: return std::all_of(e.factors.begin(), e.factors.end(), [](const Factor& f) { return f.base->is_numeric; });
    default: return false;
  }
}

bool has_positions(const AxisSet& axes) {
  return std::all_of(axes.begin(), axes.end(), [](Axis a) { return a->extent.least() >= 1; });
}

// Whether an integer expression is at least 0 whenever position k equals position q.
bool is_nonnegative_at(Expr e, Axis k, Axis q) {
  Rational own = 0, least = 0;  // own: the coefficient of position k
  const auto take = [&](const Rational& c, Expr x) {
    if (x->is(ExprKind::index) && (x->axis == k || x->axis == q)) {
      own += c;
      return true;
    }
    const Range r = x->axes.contains(k) || x->axes.contains(q) ? Range::everything() : integer_range(x);
    const std::int64_t end = c.is_negative() ? r.greatest : r.least;
    if (end == INT64_MIN || end == INT64_MAX || !c.is_integer()) return false;
    least += c * Rational(end);
    return true;
  };
  if (e->is(ExprKind::add)) {
    for (const Term& t : e->terms)
      if (!take(t.coefficient, t.value)) return false;
  } else if (!take(1, e)) {
    return false;
  }
  return !own.is_negative() && !least.is_negative();
}

// Whether a condition is known to hold whenever position k equals position q.
bool holds_at(Expr condition, Axis k, Axis q) {
  if (condition->is(ExprKind::at_least_zero)) return is_nonnegative_at(condition->operands[0], k, q);
  const auto is_of = [](Expr e, Axis a) { return e->is(ExprKind::index) && e->axis == a; };
  const auto& x = condition->operands;
  return condition->is(ExprKind::equal) && ((is_of(x[0], k) && is_of(x[1], q)) || (is_of(x[0], q) && is_of(x[1], k)));
}

}  // namespace

bool hold_somewhere(const std::vector<Expr>& conditions, const AxisSet& bound) {
  if (!has_positions(bound)) return false;
  AxisRanges first;
  AxisSet others;
  for (Axis a : bound) first[a] = {0, 0};
  for (Expr c : conditions) others.insert(c->axes);
  if (std::all_of(conditions.begin(), conditions.end(), [&](Expr c) { return holds(c, first) == true; })) return true;
  if (bound.size() != 1) return false;
  const Axis k = *bound.begin();
  return std::any_of(others.begin(), others.end(), [&](Axis q) {
    return q != k && q->extent == k->extent && std::all_of(conditions.begin(), conditions.end(), [&](Expr c) { return holds_at(c, k, q); });
  });
}

namespace {

// Whether this is a sum of positive terms, or of terms that are positive where masks hold, and these hold somewhere.
bool has_positive_term(Expr body, const AxisSet& bound) {
  if (!has_positions(bound)) return false;
  if (body->is_positive) return true;
  std::vector<Expr> conditions;
  const auto take = [&](Expr e) {
    const bool is_mask = e->is(ExprKind::indicator);
    if (is_mask) conditions.push_back(e->operands[0]);
    return is_mask || e->is_positive;
  };
  const bool is_masked = body->is(ExprKind::mul) ? body->number > Rational(0) && std::all_of(body->factors.begin(), body->factors.end(),
                                                                                             [&](const Factor& f) { return take(f.base); })
                                                 : take(body);
  return is_masked && hold_somewhere(conditions, bound);
}

// Whether the value is known to be greater than 0 if the data are finite.
bool compute_positive(const ExprData& e) {
  const auto each_is = [](Expr x) { return x->is_positive; };
  switch (e.kind) {
    case ExprKind::number: return e.number > Rational(0);
    case ExprKind::constant: return std::bit_cast<double>(e.bits) > 0;
    case ExprKind::extent: return e.extent.least() >= 1;
    case ExprKind::load: return e.tensor->is_positive;
    case ExprKind::exp: return e.operands[0]->finite != Finite::unknown;
    case ExprKind::add:
      return e.is_nonnegative &&
             std::any_of(e.terms.begin(), e.terms.end(), [](const Term& t) { return t.coefficient > Rational(0) && t.value->is_positive; });
    case ExprKind::mul:
      return e.number > Rational(0) && std::all_of(e.factors.begin(), e.factors.end(), [](const Factor& f) { return f.base->is_positive; });
    case ExprKind::function: return e.function == ir::OpKind::maximum_ && std::any_of(e.operands.begin(), e.operands.end(), each_is);
    case ExprKind::select: return e.operands[1]->is_positive && e.operands[2]->is_positive;
    case ExprKind::reduce:
      if (e.combine == graph::Combine::sum || e.combine == graph::Combine::max) return has_positive_term(e.operands[0], e.bound);
      return e.combine == graph::Combine::prod && e.operands[0]->is_positive;
    default: return false;
  }
}

// Whether the function gives a number for every number.
bool is_total(ir::OpKind f) {
  using ir::OpKind;
  switch (f) {
    case OpKind::neg_:
    case OpKind::abs_:
    case OpKind::tanh_:
    case OpKind::erf_:
    case OpKind::sin_:
    case OpKind::cos_:
    case OpKind::floor_:
    case OpKind::ceil_:
    case OpKind::rint_:
    case OpKind::trunc_:
    case OpKind::maximum_:
    case OpKind::minimum_:
    case OpKind::copysign_:
    case OpKind::cast_: return true;
    default: return false;
  }
}

}  // namespace

Finite finite_extreme(Expr body, const AxisSet& bound) {
  if (body->is(ExprKind::load)) return body->tensor->extremes;
  if (!body->is(ExprKind::select) || !body->operands[2]->is(ExprKind::infinity)) return body->finite;
  const Expr condition = body->operands[0];
  const bool is_chosen =
      has_positions(bound) && hold_somewhere(condition->is(ExprKind::conjunction) ? condition->operands : std::vector{condition}, bound);
  return is_chosen ? body->operands[1]->finite : std::min(body->operands[1]->finite, Finite::unless_hidden);
}

namespace {

// The greater of a maximum that may be -inf and a finite value is finite.
Finite finite_of_greater(const std::vector<Expr>& operands) {
  Finite greatest = Finite::unknown;
  for (Expr x : operands) {
    if (x->finite == Finite::unless_hidden && !(x->is(ExprKind::reduce) && x->combine == graph::Combine::max)) return Finite::unless_hidden;
    greatest = std::max(greatest, x->finite);
  }
  return std::min(greatest, Finite::for_finite_data);
}

Finite compute_finite(const ExprData& e) {
  if (!ir::is_float(e.element)) return Finite::always;
  Finite all = Finite::always;
  const auto take = [&](Finite f) { all = std::min(all, f); };
  switch (e.kind) {
    case ExprKind::number:
    case ExprKind::extent:
    case ExprKind::random:
    case ExprKind::indicator:
    case ExprKind::reference:
    case ExprKind::shift_reference:
    case ExprKind::delta: return Finite::always;
    case ExprKind::constant: return std::isfinite(std::bit_cast<double>(e.bits)) ? Finite::always : Finite::unknown;
    case ExprKind::load: return e.tensor->finite;
    case ExprKind::add:
      for (const Term& t : e.terms) take(t.value->finite);
      return all;
    case ExprKind::mul:
      for (const Factor& f : e.factors) take(finiteness(f));
      return all;
    case ExprKind::exp: return e.operands[0]->finite;
    case ExprKind::log: return e.operands[0]->is_positive ? e.operands[0]->finite : Finite::unknown;
    case ExprKind::function:
      // x / x is NaN for a positive x only if x is not finite.
      if (e.function == ir::OpKind::div_ && e.operands[0] == e.operands[1] && e.operands[0]->is_positive &&
          e.operands[0]->finite >= Finite::for_finite_data)
        return e.operands[0]->finite;
      if (!is_total(e.function)) return Finite::unknown;
      for (Expr x : e.operands) take(x->finite);
      return e.function == ir::OpKind::maximum_ && all == Finite::unless_hidden ? finite_of_greater(e.operands) : all;
    case ExprKind::select: return std::min(e.operands[1]->finite, e.operands[2]->finite);
    case ExprKind::reduce:
    case ExprKind::scan:
      if (e.combine == graph::Combine::max || e.combine == graph::Combine::min) return finite_extreme(e.operands[0], e.bound);
      return e.combine == graph::Combine::combine ? Finite::unknown : e.operands[0]->finite;
    default: return Finite::unknown;
  }
}

AxisSet free_axes(const ExprData& e) {
  AxisSet axes;
  // The axis that a scan binds belongs to the scanned operand; the position is outside of it.
  if (e.kind == ExprKind::scan) {
    axes = e.operands[0]->axes.without(e.bound);
    axes.insert(e.operands[1]->axes);
    return axes;
  }
  if (e.axis) axes.insert(e.axis);
  for (const Term& t : e.terms) axes.insert(t.value->axes);
  for (const Factor& f : e.factors) axes.insert(f.base->axes);
  for (Expr x : e.operands) axes.insert(x->axes);
  return axes.without(e.bound);
}

void add_facts_of_parts(ExprData& e) {
  const auto add = [&](Expr part) {
    e.height = std::max(e.height, part->height + 1);
    e.kinds |= part->kinds;
  };
  static_assert(static_cast<unsigned>(ExprKind::delta) < 32);
  e.kinds = 1u << static_cast<unsigned>(e.kind);
  for (const Term& t : e.terms) add(t.value);
  for (const Factor& f : e.factors) add(f.base);
  for (Expr x : e.operands) add(x);
}

}  // namespace

void set_facts(ExprData& e) {
  e.axes = free_axes(e);
  e.is_nonnegative = compute_nonnegative(e);
  e.is_numeric = compute_numeric(e);
  add_facts_of_parts(e);
  e.finite = compute_finite(e);
  e.is_positive = compute_positive(e);
}

}  // namespace tilewright::passes::fusion
