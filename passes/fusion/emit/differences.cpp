// Finds differences among the terms of sums.
#include "passes/fusion/emit/differences.h"

#include <algorithm>

#include "passes/fusion/expr/averaged.h"
#include "passes/fusion/expr/constant_value.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/magnitude.h"

namespace tilewright::passes::fusion {

namespace {

// Removes the changes of several references from the terms. Each is computed as one value, so that all multiples of their sum have the same
// rounding errors.
std::vector<Difference> take_several_changes(ExprBuilder& b, std::vector<Term>& terms) {
  std::vector<Term> left = terms;
  std::vector<Difference> all;
  for (const std::vector<Term>& change : take_changes(b, left)) {
    const Term& shift = change.back();
    all.push_back({Difference::Kind::change, -shift.coefficient, shift.value->operands[0], shift.value});
  }
  if (all.size() < 2) return {};
  terms = std::move(left);
  return all;
}

// Removes differences from references from the terms. Those that are added come before those that are subtracted.
std::vector<Difference> take_differences(ExprBuilder& b, std::vector<Term>& terms) {
  std::vector<Difference> differences;
  for (const Term& shift : std::vector<Term>(terms)) {
    if (!shift.value->is(ExprKind::shift_reference) || shift.coefficient.is_zero()) continue;
    const std::optional<Term> near = averaged_values(b, shift.value->operands[0]);
    if (!near || near->coefficient.is_zero()) continue;
    const Expr values = b.scale(magnitude(near->coefficient), near->value);
    const bool is_added = near->coefficient.is_negative();
    std::optional<std::vector<Term>> left =
        without_terms(terms, b.terms(b.scale(is_added ? shift.coefficient : -shift.coefficient, values)));
    if (!left) continue;
    terms = std::move(*left);
    std::erase(terms, shift);
    differences.push_back({is_added ? Difference::Kind::added : Difference::Kind::subtracted, shift.coefficient, values, shift.value,
                           is_extreme(b, shift.value)});
  }
  std::stable_partition(differences.begin(), differences.end(), [](const Difference& d) { return !d.coefficient.is_negative(); });
  return differences;
}

}  // namespace

std::vector<Difference> take_exact_differences(ExprBuilder& b, std::vector<Term>& terms) {
  const std::size_t size = terms.size();
  std::vector<Difference> all = take_several_changes(b, terms);
  for (Difference& d : take_differences(b, terms)) all.push_back(std::move(d));
  if (all.empty() || (size == 2 && all.front().coefficient.is_one())) return {};
  return all;
}

namespace {

// Where a kernel reads stored values, a maximum that another kernel has computed from these values contains them as formulas.
// This is the value with the loads of the sum in their place.
Expr with_loads(ExprBuilder& b, Expr value, const std::vector<Term>& sum) {
  ExprMap loads;
  for (const Term& t : sum) {
    ExprSet seen;
    walk_inwards(t.value, seen, [&](Expr e) {
      if (const Expr held = b.pool().stored_value(e)) loads.emplace(held, e);
      return !e->is(ExprKind::reduce);
    });
  }
  return loads.empty() ? value : b.substitute(value, loads);
}

}  // namespace

std::optional<Difference> difference_from_maximum(ExprBuilder& b, const std::vector<Term>& sum) {
  if (sum.size() < 2) return std::nullopt;
  for (const Term& t : sum) {
    const Expr stored = b.pool().stored_value(t.value), maximum = stored ? stored : t.value;
    if (!maximum->is(ExprKind::reduce) || maximum->combine != graph::Combine::max || t.coefficient.is_zero()) continue;
    Expr values = maximum->operands[0];
    while (is_masked(values)) values = values->operands[1];
    const bool has_number = !magnitude(t.coefficient).is_one() || !magnitude(b.split_coefficient(values).coefficient).is_one();
    if (sum.size() == 2 && !stored && !has_number) continue;  // one product, which is rounded
    if (stored) values = with_loads(b, values, sum);
    const std::optional<std::vector<Term>> left = without_terms(sum, b.terms(b.scale(-t.coefficient, values)));
    if (left && left->size() == 1 && left->front() == t)
      return Difference{Difference::Kind::subtracted, t.coefficient, values, t.value, true};
  }
  return std::nullopt;
}

std::vector<std::vector<Term>> take_changes(ExprBuilder& b, std::vector<Term>& terms) {
  std::vector<std::vector<Term>> changes;
  for (const Term& shift : std::vector<Term>(terms)) {
    if (!shift.value->is(ExprKind::shift_reference)) continue;
    std::vector<Term> change = b.terms(b.scale(-shift.coefficient, shift.value->operands[0]));
    const auto is_there = [&](const Term& t) { return std::find(terms.begin(), terms.end(), t) != terms.end(); };
    if (!std::all_of(change.begin(), change.end(), is_there)) continue;
    change.push_back(shift);
    std::erase_if(terms, [&](const Term& t) { return std::find(change.begin(), change.end(), t) != change.end(); });
    changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<std::vector<Term>> take_below_extremes(ExprBuilder& b, std::vector<Term>& terms) {
  std::vector<std::vector<Term>> differences;
  for (const Term& t : std::vector<Term>(terms)) {
    const std::optional<Term> values = is_extreme(b, t.value) ? averaged_values(b, t.value) : std::nullopt;
    if (!values || t.coefficient.is_zero() || std::find(terms.begin(), terms.end(), t) == terms.end()) continue;
    const std::vector<Term> chosen_from = b.terms(b.scale(-t.coefficient * values->coefficient, values->value));
    std::optional<std::vector<Term>> left = without_terms(terms, chosen_from);
    if (!left || left->size() + chosen_from.size() != terms.size()) continue;
    std::erase(*left, t);
    if (left->empty()) continue;
    terms = std::move(*left);
    differences.push_back(chosen_from);
    differences.back().push_back(t);
  }
  return differences;
}

std::optional<std::vector<Term>> without_terms(std::vector<Term> sum, std::span<const Term> taken) {
  for (const Term& t : taken) {
    const auto at = std::find_if(sum.begin(), sum.end(), [&](const Term& s) { return s.value == t.value && !s.coefficient.is_zero(); });
    if (at == sum.end() || (constant_value(t.value) && at->coefficient != t.coefficient)) return std::nullopt;
    try {
      at->coefficient = at->coefficient - t.coefficient;
    } catch (const ir::RationalOverflow&) {
      return std::nullopt;
    }
    if (at->coefficient.is_zero()) sum.erase(at);
  }
  return sum;
}

}  // namespace tilewright::passes::fusion
