// Makes products in normal form.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "passes/fusion/expr/hidden_maxima.h"
#include "passes/fusion/expr/leading_coefficient.h"
#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/thresholds.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

using ir::Element;

// Collects the factors of a product: merges equal bases, exponentials and indicators, and splits products into factors.
class ExprBuilder::ProductBuilder {
 public:
  ProductBuilder(ExprBuilder& b, Rational coefficient) : b_(b), coefficient_(std::move(coefficient)) {}

  void take(Expr base, const Rational& exponent) {
    if (exponent.is_zero()) return;
    if (is_guard(base)) {
      guards_.emplace(base->key, base);
      return;
    }
    switch (base->kind) {
      case ExprKind::number: return take_number(base->number, exponent);
      case ExprKind::mul:
        if (exponent.is_integer() || !base->number.is_negative()) return take_product(base, exponent);
        break;
      case ExprKind::exp: exponents_.push_back(b_.scale(exponent, base->operands[0])); return;
      case ExprKind::indicator:
        if (!exponent.is_negative()) {
          take_mask(base);
          return;
        }
        divides_by_mask_ = true;
        return merge(base, -1);
      case ExprKind::add: return take_sum(base, exponent);
      default: break;
    }
    merge(base, exponent);
  }

  Expr finish() {
    take_roots();
    if (coefficient_.is_zero()) drop_finite();
    if (!masks_.empty() && masks_.contains(b_.truth(false)->key)) return b_.zero();
    if (const Expr selected = resolve_select()) return selected;
    if (divides_by_mask_) {
      for (const auto& [key, mask] : masks_) merge(typed(mask), 1);
      masks_.clear();
    }
    merge_exponents();
    std::vector<Expr> exponentials;
    for (Expr u : exponents_) exponentials.push_back(b_.exp(u));
    if (!std::all_of(exponentials.begin(), exponentials.end(), [](Expr e) { return e->is(ExprKind::exp); })) {
      std::vector<Factor> all = listed();
      for (Expr e : exponentials) all.push_back({e, 1});
      return b_.multiply(coefficient_, all);
    }
    for (Expr e : exponentials) merge(e, 1);
    std::vector<Factor> all = listed();
    if (all.empty()) return b_.number(coefficient_);
    if (all.size() == 1 && all[0].exponent.is_one()) {
      const Expr only = all[0].base;
      if (coefficient_.is_one()) return only;
      if (only->is(ExprKind::add))
        if (const std::optional<Expr> sum = b_.scaled_sum(coefficient_, only)) return *sum;
      if ((only->is(ExprKind::select) && only->operands[2]->is(ExprKind::infinity)) || only->is(ExprKind::infinity))
        return b_.scale(coefficient_, only);
    }
    ExprData e;
    e.kind = ExprKind::mul;
    std::vector<Expr> bases;
    for (const Factor& f : all) bases.push_back(f.base);
    e.element = common_element(bases);
    e.number = coefficient_;
    e.factors = std::move(all);
    return b_.pool_.intern(std::move(e));
  }

 private:
  // Multiplies by a number. A number that does not fit into the coefficient becomes a factor.
  void times(const Rational& c) {
    try {
      coefficient_ = coefficient_ * c;
    } catch (const ir::RationalOverflow&) {
      if (c.is_negative()) coefficient_ = -coefficient_;
      merge(b_.number(c.is_negative() ? -c : c), 1);
    }
  }

  // Each condition is a factor of its own.
  void take_mask(Expr mask) {
    if (mask->element == Element::f64) mask_element_ = Element::f64;
    const Expr condition = mask->operands[0];
    const bool is_single = !condition->is(ExprKind::conjunction);
    for (Expr c : conjuncts(condition)) {
      if (c == b_.truth(true)) continue;
      const auto [at, is_new] = masks_.emplace(c->key, is_single ? mask : b_.mask(c, mask->hides, mask_element_, mask->hidden_tensors));
      if (!is_new) at->second = both_masks(c, at->second, mask);
    }
  }
  // One mask that hides what two masks with its condition hide.
  Expr both_masks(Expr condition, Expr mask, Expr other) {
    AxisSet hides = mask->hides;
    hides.insert(other->hides);
    if (!mask->hidden_tensors || !other->hidden_tensors) return b_.mask(condition, hides, mask->element);
    std::vector<Tensor> tensors;
    const auto by_name = [](Tensor a, Tensor b) { return a->name < b->name; };
    std::ranges::set_union(*mask->hidden_tensors, *other->hidden_tensors, std::back_inserter(tensors), by_name);
    return b_.mask(condition, hides, mask->element, std::move(tensors));
  }
  // All masks of a product have one type.
  Expr typed(Expr mask) const {
    return mask->element == mask_element_ ? mask : b_.mask(mask->operands[0], mask->hides, mask_element_, mask->hidden_tensors);
  }

  // The powers of one base, separated into those that multiply and those that divide.
  struct Powers {
    Expr base;
    Rational positive, negative;
    bool has_root = false;  // there is a root of a base with unknown sign: the product is NaN where it is negative
  };

  void merge(Expr base, const Rational& exponent, bool has_root = false) {
    Powers& p = powers_.emplace(base->key, Powers{base, 0, 0}).first->second;
    (exponent.is_negative() ? p.negative : p.positive) += exponent;
    p.has_root = p.has_root || ((has_root || !exponent.is_integer()) && !base->is_nonnegative);
  }

  // If the product is 0 x y, it only matters whether x and y are finite: a power says no more than the sign of its exponent.
  void drop_finite() {
    for (auto at = powers_.begin(); at != powers_.end();) {
      Powers& p = at->second;
      if (p.positive > Rational(0)) p.positive = p.has_root ? Rational(1, 2) : Rational(1);
      if (p.negative.is_negative()) p.negative = p.has_root ? Rational(-1, 2) : Rational(-1);
      const bool is_finite = p.base->finite == Finite::always && (p.negative.is_zero() || p.base->is_positive);
      at = is_finite && !p.has_root ? powers_.erase(at) : std::next(at);
    }
    std::erase_if(exponents_, [](Expr u) { return u->finite == Finite::always; });
    if (powers_.empty() && exponents_.empty() && guards_.empty()) masks_.clear();
  }

  void take_number(const Rational& value, const Rational& exponent) {
    if (exponent.is_integer() || value.is_zero()) {
      if (value.is_zero() && exponent.is_negative()) return merge(b_.zero(), exponent);
      try {
        times(ir::power(value, static_cast<std::int64_t>(exponent.numerator())));
      } catch (const ir::RationalOverflow&) {
        merge(b_.number(value), exponent);
      }
      return;
    }
    if (value.is_negative()) return merge(b_.number(value), exponent);
    take_root(value.numerator(), exponent);
    take_root(value.denominator(), -exponent);
  }

  // Small prime factors are handled one by one, the rest as one base, so that equal products of roots become equal.
  void take_root(ir::Int128 value, const Rational& exponent) {
    for (int prime = 2; prime <= kMostPrimeOfRoot && value > 1; ++prime)
      for (; value % prime == 0; value /= prime) roots_[prime] += exponent;
    if (value > 1) roots_[value] += exponent;
  }

  void take_roots() {
    for (auto& [base, exponent] : roots_) {
      ir::Int128 whole = exponent.numerator() / exponent.denominator();
      if (exponent.is_negative() && !exponent.is_integer()) --whole;
      std::optional<Rational> factor;
      try {
        factor = ir::power(Rational(base, 1), static_cast<std::int64_t>(whole));
      } catch (const ir::RationalOverflow&) {
        factor.reset();  // the root stays whole
      }
      if (factor) {
        times(*factor);
        exponent = exponent - Rational(whole, 1);
      }
      if (!exponent.is_zero()) merge(b_.number(Rational(base, 1)), exponent);
    }
    roots_.clear();
  }

  // (c x y)^p: a fractional power is applied to the factors known to be >= 0; the others stay together. The former must not be 0 if there
  // are others: sqrt(0 x) is 0 for a negative x, while 0 sqrt(x) is NaN.
  void take_product(Expr base, const Rational& exponent) {
    if (base->number.is_zero() && !exponent.is_integer()) return merge(base, exponent);
    take_number(base->number, exponent);
    const bool stays_together = !exponent.is_integer() &&
                                !std::all_of(base->factors.begin(), base->factors.end(), [](const Factor& f) { return is_nonnegative(f); });
    std::vector<Factor> rest;
    for (const Factor& f : base->factors) {
      if (!stays_together && !exponent.is_negative() && f.base->is(ExprKind::indicator) && !f.exponent.is_negative()) {
        take_mask(f.base);
        continue;
      }
      if (stays_together && !fusion::is_positive(f)) {
        rest.push_back(f);
        continue;
      }
      const Rational powered = f.exponent * exponent;
      const bool was_even = f.exponent.is_even();
      if (!f.exponent.is_integer() && !f.base->is_nonnegative) {
        merge(f.base, powered, true);  // the square of a root of x is x where x is not negative
        continue;
      }
      // (x^2)^(1/2) = |x|
      take(!exponent.is_integer() && was_even && !powered.is_even() ? b_.absolute(f.base) : f.base, powered);
    }
    if (!rest.empty()) merge(b_.multiply(1, rest), exponent);
  }

  void take_sum(Expr base, const Rational& exponent) {
    if (!is_integer(base)) {
      const Rational c = coefficient_of_factor(b_, base);
      const bool is_movable = !c.is_one() && (!c.is_negative() || exponent.is_integer());
      if (const std::optional<Expr> divided = is_movable ? b_.scaled_sum(Rational(1) / c, base) : std::nullopt) {
        take_number(c, exponent);
        base = *divided;
      }
    }
    merge(base, exponent);
  }

  // Whether exp(x) exp(y) is one exponential: x + y is a multiple of x, or a term of x cancels one of y. Any other sum may be rounded far more
  // than x and y are: of (x - m) + y for a large maximum m, nothing is left of y if y is added to x first.
  bool is_one_exponent(Expr x, Expr y) const {
    const std::vector<Term> a = b_.terms(x), b = b_.terms(y);
    if (x == y || (a.size() == 1 && b.size() == 1 && a[0].value == b[0].value)) return true;
    return std::any_of(a.begin(), a.end(),
                       [&](const Term& t) { return std::find(b.begin(), b.end(), Term{-t.coefficient, t.value}) != b.end(); });
  }

  void merge_exponents() {
    std::vector<Expr> open = std::move(exponents_);
    std::sort(open.begin(), open.end(), [](Expr x, Expr y) { return x->key < y->key; });
    exponents_.clear();
    while (!open.empty()) {
      const Expr u = open.back();
      open.pop_back();
      const auto other = std::find_if(exponents_.begin(), exponents_.end(), [&](Expr x) { return is_one_exponent(u, x); });
      if (other == exponents_.end()) {
        exponents_.push_back(u);
        continue;
      }
      open.push_back(b_.add({u, *other}));
      exponents_.erase(other);
    }
  }

  // [m] (m ? a : b) = [m] a, if a and b are finite: 0 times an infinite a is not 0.
  Expr resolve_select() {
    if (masks_.empty()) return {};
    for (auto at = powers_.begin(); at != powers_.end(); ++at) {
      const Powers p = at->second;
      if (!p.base->is(ExprKind::select) || (!p.positive.is_zero() && !p.negative.is_zero()) || p.has_root) continue;
      const Rational exponent = p.positive + p.negative;
      const auto may_be_infinite = [&](Expr e) { return finiteness({e, exponent}) == Finite::unknown; };
      if (may_be_infinite(p.base->operands[1]) || may_be_infinite(p.base->operands[2])) continue;
      const std::vector<Expr> needed = conjuncts(p.base->operands[0]);
      if (!std::all_of(needed.begin(), needed.end(), [&](Expr c) { return masks_.contains(c->key); })) continue;
      powers_.erase(at);
      if (p.base->element == Element::f64) mask_element_ = Element::f64;
      std::vector<Factor> all = listed();
      for (const Factor& mask : b_.masks_of(p.base->operands[0], p.base->operands[1], mask_element_)) all.push_back(mask);
      all.push_back({p.base->operands[1], exponent});
      for (Expr u : exponents_) all.push_back({b_.exp(u), 1});
      return b_.multiply(coefficient_, all);
    }
    return {};
  }

  // A factor times its inverse is 1 where the base is finite and not 0, else NaN: x / x remains.
  std::vector<Factor> listed() const {
    std::map<ExprKey, Expr> guards = guards_;
    std::vector<Factor> all;
    for (const auto& [key, p] : powers_) {
      const Rational total = p.positive + p.negative;
      const bool is_cancelled = !p.positive.is_zero() && !p.negative.is_zero();
      const bool is_harmless = p.base->finite == Finite::always && p.base->is_positive;
      if ((is_cancelled && !is_harmless) || (total.is_zero() && p.has_root)) {
        const Expr base = p.has_root ? b_.power(p.base, Rational(1, 2)) : p.base;
        const Expr guard = b_.function(ir::OpKind::div_, {base, base}, base->element);
        guards.emplace(guard->key, guard);
      }
      if (total.is_zero()) continue;
      if (p.has_root && total.is_integer()) {
        const Rational half(total.is_negative() ? -1 : 1, 2), rest = total - half;
        all.push_back({p.base, std::max(rest, half)});
        all.push_back({p.base, std::min(rest, half)});
      } else {
        all.push_back({p.base, total});
      }
    }
    const std::vector<Factor> others = all;
    for (const auto& [key, guard] : guards) {
      const std::optional<Expr> maximum = guarded_maximum(b_, guard);
      if (!maximum || !implies_guard(b_, others, *maximum)) all.push_back({guard, 1});
    }
    for (const auto& [key, mask] : masks_) all.push_back({typed(mask), 1});
    std::stable_sort(all.begin(), all.end(), [](const Factor& x, const Factor& y) { return x.base->key < y.base->key; });
    return all;
  }

  ExprBuilder& b_;
  Rational coefficient_;
  std::map<ExprKey, Powers> powers_;
  std::map<ExprKey, Expr> guards_;
  std::map<ir::Int128, Rational> roots_;
  std::vector<Expr> exponents_;
  std::map<ExprKey, Expr> masks_;  // by the keys of their conditions
  bool divides_by_mask_ = false;
  Element mask_element_ = Element::f32;
};

Expr ExprBuilder::multiply(const Rational& coefficient, const std::vector<Factor>& factors) {
  try {
    ProductBuilder product(*this, coefficient);
    for (const Factor& f : factors) product.take(f.base, f.exponent);
    return product.finish();
  } catch (const ir::RationalOverflow&) {
    return product_of_functions(coefficient, factors);
  }
}

// If exponents would need more than 127 bits, as for a value that is squared again and again, they are not added: the product stays as
// written.
Expr ExprBuilder::product_of_functions(const Rational& coefficient, const std::vector<Factor>& factors) {
  Expr all;
  for (const Factor& f : factors) {
    const Element e = computed(f.base->element);
    const Expr x = f.exponent.is_one() ? f.base : function(ir::OpKind::pow_, {f.base, number(f.exponent)}, e);
    all = all ? function(ir::OpKind::mul_, {all, x}, common_element(std::array{all, x})) : x;
  }
  return scale(coefficient, all);
}

Expr ExprBuilder::product(std::initializer_list<Expr> values) {
  std::vector<Factor> all;
  for (Expr e : values) all.push_back({e, 1});
  return multiply(1, all);
}

}  // namespace tilewright::passes::fusion
