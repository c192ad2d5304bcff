// Implements sets of axes, and what expressions say about themselves.
#include "passes/fusion/expr/expr.h"

#include <algorithm>

#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

// ---- axes ----

std::string label_again(const std::string& label) {
  if (label.find(' ') == label.npos) return label + "'";
  // axis 0 of x, axis 0 of x (again), axis 0 of x (again, 2), ...
  constexpr std::string_view kAgain = " (again";
  const std::size_t at = label.rfind(kAgain);
  if (at == label.npos || !label.ends_with(')')) return label + " (again)";
  const std::size_t number = at + kAgain.size() + 2;  // behind ", "
  const int times = number < label.size() ? std::stoi(label.substr(number)) : 1;
  return label.substr(0, at) + std::string(kAgain) + ", " + std::to_string(times + 1) + ")";
}

// ---- AxisSet ----

void AxisSet::insert(Axis a) {
  const auto at = std::lower_bound(axes_.begin(), axes_.end(), a, AxisLess());
  if (at == axes_.end() || *at != a) axes_.insert(at, a);
}
void AxisSet::insert(const AxisSet& other) {
  if (other.empty()) return;
  std::vector<Axis> both;
  both.reserve(axes_.size() + other.size());
  std::set_union(begin(), end(), other.begin(), other.end(), std::back_inserter(both), AxisLess());
  axes_ = std::move(both);
}
bool AxisSet::contains(Axis a) const { return std::binary_search(begin(), end(), a, AxisLess()); }
bool AxisSet::contains(const AxisSet& other) const { return std::includes(begin(), end(), other.begin(), other.end(), AxisLess()); }
bool AxisSet::intersects(const AxisSet& other) const {
  return std::any_of(other.begin(), other.end(), [&](Axis a) { return contains(a); });
}
AxisSet AxisSet::without(const AxisSet& other) const {
  AxisSet rest;
  std::set_difference(begin(), end(), other.begin(), other.end(), std::back_inserter(rest.axes_), AxisLess());
  return rest;
}
AxisSet AxisSet::common(const AxisSet& other) const {
  AxisSet both;
  std::set_intersection(begin(), end(), other.begin(), other.end(), std::back_inserter(both.axes_), AxisLess());
  return both;
}

// ---- integers ----

std::int64_t whole(const Rational& r) {
  TW_CHECK(r.is_integer(), "fusion: a fraction in an expression of integers");
  return static_cast<std::int64_t>(r.numerator());
}

std::int64_t whole_power(const Factor& f) {
  TW_CHECK(!f.exponent.is_negative(), "fusion: a quotient in an expression of integers");
  return whole(f.exponent);
}

// ---- what is known of values ----

std::vector<Expr> conjuncts(Expr condition) {
  if (condition->is(ExprKind::conjunction)) return condition->operands;
  return {condition};
}

Finite finiteness(const Factor& f) {
  if (f.exponent.is_negative()) return f.base->is_positive ? f.base->finite : Finite::unknown;
  return f.exponent.is_integer() || f.base->is_nonnegative ? f.base->finite : Finite::unknown;
}

bool is_mask(const Factor& f) { return f.base->is(ExprKind::indicator) && f.exponent.is_one(); }

bool is_guard(Expr e) {
  return e->is(ExprKind::function) && e->function == ir::OpKind::div_ && e->operands[0] == e->operands[1] && ir::is_float(e->element);
}

bool is_guard_of_infinity(Expr e) {
  if (!is_guard(e) || !e->operands[0]->is(ExprKind::function) || e->operands[0]->function != ir::OpKind::maximum_) return false;
  const std::vector<Expr>& limited = e->operands[0]->operands;
  return limited[0]->is_number(1) || limited[1]->is_number(1);
}

}  // namespace tilewright::passes::fusion
