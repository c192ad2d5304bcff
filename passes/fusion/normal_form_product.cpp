// Products in normal form.
#include <algorithm>
#include <cmath>
#include <map>

#include "passes/fusion/normal_form.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

namespace {

using ir::Element;

bool is_integer(Expr e) { return ir::is_integer(e->element); }

}  // namespace

// Collects the factors of a product: merges equal bases, exponentials and indicators, and takes products apart.
class ExprBuilder::ProductBuilder {
 public:
  ProductBuilder(ExprBuilder& b, Rational coefficient) : b_(b), coefficient_(std::move(coefficient)) {}

  void take(Expr base, const Rational& exponent) {
    if (exponent.is_zero()) return;
    switch (base->kind) {
      case ExprKind::number: return take_number(base->number, exponent);
      case ExprKind::mul:
        if (exponent.is_integer() || !base->number.is_negative()) return take_product(base, exponent);
        break;
      case ExprKind::exp: exponents_.push_back(b_.scale(exponent, base->operands[0])); return;
      case ExprKind::indicator:
        if (!exponent.is_negative()) {
          take_condition(base->operands[0], base->element);
          return;
        }
        break;
      case ExprKind::add: return take_sum(base, exponent);
      default: break;
    }
    merge(base, exponent);
  }

  Expr finish() {
    take_roots();
    if (coefficient_.is_zero()) return factors_.contains(b_.zero()->key) ? b_.constant(NAN) : b_.zero();  // 0 / 0
    if (!conditions_.empty()) {
      const Expr condition = b_.conjunction(conditions_);
      if (condition == b_.truth(false)) return b_.zero();
      if (const Expr selected = resolve_select(condition)) return selected;
      if (condition != b_.truth(true)) merge(b_.make(ExprKind::indicator, {condition}, mask_element_), 1);
    }
    if (!exponents_.empty()) {
      const Expr exponential = b_.exp(b_.add(exponents_));
      if (!exponential->is(ExprKind::exp)) {
        std::vector<Factor> all = listed();
        all.push_back({exponential, 1});
        return b_.multiply(coefficient_, std::move(all));
      }
      merge(exponential, 1);
    }
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
  // A number that does not fit into the coefficient is a factor.
  void times(const Rational& c) {
    try {
      coefficient_ = coefficient_ * c;
    } catch (const ir::RationalOverflow&) {
      if (c.is_negative()) coefficient_ = -coefficient_;
      merge(b_.number(c.is_negative() ? -c : c), 1);
    }
  }

  void take_condition(Expr condition, Element element) {
    conditions_.push_back(condition);
    if (element == Element::f64) mask_element_ = Element::f64;
  }

  void merge(Expr base, const Rational& exponent) {
    const auto [at, is_new] = factors_.emplace(base->key, Factor{base, exponent});
    if (!is_new) at->second.exponent += exponent;
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

  // Small prime factors one by one, what remains as one base, so that equal products of roots are equal.
  void take_root(ir::Int128 value, const Rational& exponent) {
    constexpr int kMostPrime = 1000;
    for (int prime = 2; prime <= kMostPrime && value > 1; ++prime)
      for (; value % prime == 0; value /= prime) roots_[prime] += exponent;
    if (value > 1) roots_[value] += exponent;
  }

  void take_roots() {
    for (auto& [base, exponent] : roots_) {
      ir::Int128 whole = exponent.numerator() / exponent.denominator();
      if (exponent.is_negative() && !exponent.is_integer()) --whole;
      try {
        times(ir::power(Rational(base, 1), static_cast<std::int64_t>(whole)));
        exponent = exponent - Rational(whole, 1);
      } catch (const ir::RationalOverflow&) {
      }
      if (!exponent.is_zero()) merge(b_.number(Rational(base, 1)), exponent);
    }
    roots_.clear();
  }

  // (c x y)^p: a fractional power is taken of the factors that are known to be >= 0; the others stay together.
  void take_product(Expr base, const Rational& exponent) {
    take_number(base->number, exponent);
    std::vector<Factor> rest;
    for (const Factor& f : base->factors) {
      if (!exponent.is_integer() && !is_nonnegative(f)) {
        rest.push_back(f);
        continue;
      }
      const Rational powered = f.exponent * exponent;
      const bool was_even = f.exponent.is_even();
      // (x^2)^(1/2) = |x|
      take(!exponent.is_integer() && was_even && !powered.is_even() ? b_.absolute(f.base) : f.base, powered);
    }
    if (!rest.empty()) merge(b_.multiply(1, std::move(rest)), exponent);
  }

  // The first term that is no constant gets the coefficient 1.
  void take_sum(Expr base, const Rational& exponent) {
    if (!is_integer(base)) {
      const auto first = std::find_if(base->terms.begin(), base->terms.end(), [&](const Term& t) { return t.value != b_.one(); });
      const Rational c = first->coefficient;
      const bool is_movable = !c.is_one() && (!c.is_negative() || exponent.is_integer());
      if (const std::optional<Expr> monic = is_movable ? b_.scaled_sum(Rational(1) / c, base) : std::nullopt) {
        take_number(c, exponent);
        base = *monic;
      }
    }
    merge(base, exponent);
  }

  // [m] (m ? a : b) = [m] a
  Expr resolve_select(Expr condition) {
    const std::vector<Expr> known = conjuncts(condition);
    for (auto at = factors_.begin(); at != factors_.end(); ++at) {
      const auto [base, exponent] = at->second;
      if (!base->is(ExprKind::select)) continue;
      const std::vector<Expr> needed = conjuncts(base->operands[0]);
      if (!std::all_of(needed.begin(), needed.end(), [&](Expr c) { return std::find(known.begin(), known.end(), c) != known.end(); }))
        continue;
      factors_.erase(at);
      std::vector<Factor> all = listed();
      all.push_back({base->operands[1], exponent});
      all.push_back({b_.indicator(condition, base->element == Element::f64 ? Element::f64 : mask_element_), 1});
      for (Expr u : exponents_) all.push_back({b_.exp(u), 1});
      return b_.multiply(coefficient_, std::move(all));
    }
    return {};
  }

  std::vector<Factor> listed() const {
    std::vector<Factor> all;
    for (const auto& [key, f] : factors_)
      if (!f.exponent.is_zero()) all.push_back(f);
    return all;
  }

  ExprBuilder& b_;
  Rational coefficient_;
  std::map<ExprKey, Factor> factors_;
  std::map<ir::Int128, Rational> roots_;
  std::vector<Expr> exponents_, conditions_;
  Element mask_element_ = Element::f32;  // of the indicator of all conditions
};

Expr ExprBuilder::multiply(Rational coefficient, std::vector<Factor> factors) {
  ProductBuilder product(*this, std::move(coefficient));
  for (const Factor& f : factors) product.take(f.base, f.exponent);
  return product.finish();
}

Expr ExprBuilder::product(std::initializer_list<Expr> values) {
  std::vector<Factor> all;
  for (Expr e : values) all.push_back({e, 1});
  return multiply(1, std::move(all));
}

}  // namespace tilewright::passes::fusion
