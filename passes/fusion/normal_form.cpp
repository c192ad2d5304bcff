#include "passes/fusion/normal_form.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>

#include "tileir/diagnostics.h"
#include "tileir/graph/symbols.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using ir::Element;
using ir::OpKind;

bool by_key(Expr a, Expr b) { return a->key < b->key; }

// The element type of arithmetic on these values: numbers and extents adapt to the others, integers are exact.
Element common_element(std::span<const Expr> values) {
  bool has_integer = false, has_float = false;
  for (Expr e : values) {
    if (e->is(ExprKind::number) || e->is(ExprKind::infinity)) continue;
    if (e->element == Element::f64) return Element::f64;
    if (ir::is_integer(e->element))
      has_integer = true;
    else
      has_float = true;
  }
  return has_integer && !has_float ? Element::i64 : Element::f32;
}

bool is_integer(Expr e) { return ir::is_integer(e->element); }
bool is_masked(Expr e) { return e->is(ExprKind::select) && e->operands[2]->is_negative_infinity(); }
bool nonnegative(Expr base, const Rational& exponent) {
  return exponent.is_even() || !exponent.is_integer() || base->is_nonnegative;
}

}  // namespace

// ---- leaves ----

ExprBuilder::ExprBuilder(ExprPool& pool) : pool_(pool) {
  zero_ = number(0);
  one_ = number(1);
  ExprData infinity;
  infinity.kind = ExprKind::infinity;
  infinity.element = Element::f32;
  infinity.number = -1;
  negative_infinity_ = pool_.intern(std::move(infinity));
}

Expr ExprBuilder::make(ExprKind kind, std::vector<Expr> operands, Element element) {
  ExprData e;
  e.kind = kind;
  e.element = element;
  e.operands = std::move(operands);
  return pool_.intern(std::move(e));
}

Expr ExprBuilder::number(const Rational& value) {
  ExprData e;
  e.kind = ExprKind::number;
  e.element = Element::f32;
  e.number = value;
  return pool_.intern(std::move(e));
}

Expr ExprBuilder::constant(double value) {
  if (const auto exact = Rational::from_double(value)) return number(*exact);
  if (std::isinf(value)) return value < 0 ? negative_infinity_ : scale(-1, negative_infinity_);
  ExprData e;
  e.kind = ExprKind::constant;
  e.element = Element::f32;
  e.bits = std::bit_cast<std::uint64_t>(std::isnan(value) ? std::nan("") : value);
  return pool_.intern(std::move(e));
}

Expr ExprBuilder::extent(const Dim& dim) {
  if (dim.is_constant()) return number(dim.value());
  // A product of symbols is a product here, too: 1 / (n m) = 1 / n * 1 / m.
  for (std::uint32_t symbol : dim.symbols()) {
    const Dim factor = dim.table()->dim(symbol);
    if (factor == dim) break;
    if (const auto rest = Dim::divide_exactly(dim, factor)) return product({extent(factor), extent(*rest)});
  }
  ExprData e;
  e.kind = ExprKind::extent;
  e.element = Element::i64;
  e.extent = dim;
  return pool_.intern(std::move(e));
}

Expr ExprBuilder::random(std::uint64_t seed, Expr counter) {
  ExprData e;
  e.kind = ExprKind::random;
  e.element = Element::f32;
  e.bits = seed;
  e.operands = {counter};
  return pool_.intern(std::move(e));
}

Expr ExprBuilder::index(Axis axis) {
  ExprData e;
  e.kind = ExprKind::index;
  e.element = Element::i64;
  e.axis = axis;
  return pool_.intern(std::move(e));
}

Expr ExprBuilder::load(Tensor tensor, std::vector<Expr> indices) {
  ExprData e;
  e.kind = ExprKind::load;
  e.element = ir::is_float(tensor->element) && tensor->element != Element::f64 ? Element::f32 : tensor->element;
  e.tensor = tensor;
  e.operands = std::move(indices);
  return pool_.intern(std::move(e));
}

// ---- sums ----

Rational ExprBuilder::add_rounded(const Rational& a, const Rational& b) {
  try {
    return a + b;
  } catch (const ir::RationalOverflow&) {
    has_rounded_ = true;
    return Rational::from_double(a.to_double() + b.to_double()).value_or(0);
  }
}

Rational ExprBuilder::multiply_rounded(const Rational& a, const Rational& b) {
  try {
    return a * b;
  } catch (const ir::RationalOverflow&) {
    has_rounded_ = true;
    return Rational::from_double(a.to_double() * b.to_double()).value_or(0);
  }
}

Term ExprBuilder::split_coefficient(Expr e) const {
  if (e->is(ExprKind::number)) return {e->number, one_};
  if (!e->is(ExprKind::mul) || e->number.is_one()) return {1, e};
  return {e->number, const_cast<ExprBuilder*>(this)->multiply(1, e->factors)};
}

std::vector<Term> ExprBuilder::terms(Expr e) const {
  if (e->is(ExprKind::add)) return e->terms;
  return {split_coefficient(e)};
}

std::vector<Factor> ExprBuilder::factors(Expr e) const {
  if (e->is(ExprKind::mul)) return e->factors;
  return {{e, 1}};
}

Expr ExprBuilder::add(std::span<const Expr> values) {
  std::vector<Term> all;
  for (Expr e : values)
    for (const Term& t : terms(e)) all.push_back(t);
  return add_terms(all);
}

Expr ExprBuilder::add_terms(std::span<const Term> given) {
  std::map<ExprKey, Term> merged;
  std::vector<Expr> masked;
  for (const Term& t : given) {
    // The mask of an additive mask becomes the mask of the sum; a negative multiple of one is +inf there and stays a term.
    if (is_masked(t.value) && t.coefficient.is_one()) {
      masked.push_back(t.value);
      continue;
    }
    const auto [at, is_new] = merged.emplace(t.value->key, t);
    if (!is_new) at->second.coefficient = add_rounded(at->second.coefficient, t.coefficient);
  }
  ExprData sum;
  std::vector<Expr> values;
  for (auto& [key, t] : merged)
    if (!t.coefficient.is_zero()) sum.terms.push_back(t), values.push_back(t.value);
  Expr result;
  if (sum.terms.empty()) {
    result = zero_;
  } else if (sum.terms.size() == 1) {
    result = scale(sum.terms[0].coefficient, sum.terms[0].value);
  } else {
    sum.kind = ExprKind::add;
    sum.element = common_element(values);
    result = pool_.intern(std::move(sum));
  }
  if (masked.empty()) return result;
  std::vector<Expr> conditions, inside{result};
  for (Expr m : masked) conditions.push_back(m->operands[0]), inside.push_back(m->operands[1]);
  return select(conjunction(conditions), add(inside), negative_infinity_);
}

Expr ExprBuilder::scale(const Rational& c, Expr e) {
  if (c.is_one()) return e;
  if (c.is_zero()) return zero_;
  if (e->is(ExprKind::number)) return number(multiply_rounded(c, e->number));
  if (e->is(ExprKind::infinity)) {
    ExprData infinity;
    infinity.kind = ExprKind::infinity;
    infinity.element = Element::f32;
    infinity.number = c.is_negative() == e->number.is_negative() ? 1 : -1;
    return pool_.intern(std::move(infinity));
  }
  if (e->is(ExprKind::add)) {
    std::vector<Term> scaled;
    for (const Term& t : e->terms) scaled.push_back({multiply_rounded(c, t.coefficient), t.value});
    return add_terms(scaled);
  }
  // A masked value keeps its infinity, with the sign of the coefficient.
  if (e->is(ExprKind::select) && e->operands[2]->is(ExprKind::infinity))
    return select(e->operands[0], scale(c, e->operands[1]), scale(c, e->operands[2]));
  return multiply(c, {{e, 1}});
}

// ---- products ----

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
          conditions_.push_back(base->operands[0]);
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
    if (coefficient_.is_zero()) return b_.zero();
    if (!conditions_.empty()) {
      const Expr condition = b_.conjunction(conditions_);
      if (condition == b_.truth(false)) return b_.zero();
      if (const Expr selected = resolve_select(condition)) return selected;
      if (condition != b_.truth(true)) merge(b_.make(ExprKind::indicator, {condition}, Element::f32), 1);
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
      if (only->is(ExprKind::add) || (only->is(ExprKind::select) && only->operands[2]->is(ExprKind::infinity)) ||
          only->is(ExprKind::infinity))
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
  void times(const Rational& c) { coefficient_ = b_.multiply_rounded(coefficient_, c); }

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
      if (!exponent.is_integer() && !nonnegative(f.base, f.exponent)) {
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
      if (!c.is_one() && (!c.is_negative() || exponent.is_integer())) {
        take_number(c, exponent);
        base = b_.scale(Rational(1) / c, base);
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
      all.push_back({b_.indicator(condition), 1});
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

// ---- functions ----

Expr ExprBuilder::exp(Expr u) {
  if (u == zero_) return one_;
  if (u->is_negative_infinity()) return zero_;
  if (is_masked(u)) return select(u->operands[0], exp(u->operands[1]), zero_);
  // exp(u + c log x) = x^c exp(u)
  std::vector<Term> rest;
  std::vector<Factor> powers;
  for (const Term& t : terms(u)) {
    if (t.value->is(ExprKind::log))
      powers.push_back({t.value->operands[0], t.coefficient});
    else
      rest.push_back(t);
  }
  if (!powers.empty()) {
    powers.push_back({exp(add_terms(rest)), 1});
    return multiply(1, std::move(powers));
  }
  return make(ExprKind::exp, {u}, common_element(std::span(&u, 1)));
}

Expr ExprBuilder::log(Expr u) {
  if (u == one_) return zero_;
  if (u == zero_) return negative_infinity_;
  if (u->is(ExprKind::exp)) return u->operands[0];
  const auto indicator_at = [](const Factor& f) { return f.base->is(ExprKind::indicator); };
  if (u->is(ExprKind::indicator)) return select(u->operands[0], zero_, negative_infinity_);
  if (u->is(ExprKind::mul)) {
    if (std::any_of(u->factors.begin(), u->factors.end(), indicator_at)) {
      std::vector<Expr> conditions;
      std::vector<Factor> rest;
      for (const Factor& f : u->factors)
        if (indicator_at(f))
          conditions.push_back(f.base->operands[0]);
        else
          rest.push_back(f);
      return select(conjunction(conditions), log(multiply(u->number, std::move(rest))), negative_infinity_);
    }
    if (!u->number.is_negative()) {
      std::vector<Expr> sum;
      std::vector<Factor> rest;
      for (const Factor& f : u->factors) {
        if (nonnegative(f.base, f.exponent))
          sum.push_back(scale(f.exponent, log(f.base->is_nonnegative ? f.base : absolute(f.base))));
        else
          rest.push_back(f);
      }
      if (!sum.empty() || !u->number.is_one()) {
        if (!u->number.is_one()) sum.push_back(make(ExprKind::log, {number(u->number)}, Element::f32));
        if (!rest.empty()) sum.push_back(log(multiply(1, std::move(rest))));
        return add(sum);
      }
    }
  }
  return make(ExprKind::log, {u}, common_element(std::span(&u, 1)));
}

Expr ExprBuilder::absolute(Expr u) {
  if (u->is_nonnegative) return u;
  if (u->is(ExprKind::number)) return number(-u->number);
  if (u->is(ExprKind::mul) && !is_integer(u) && (!u->number.is_one() || u->factors.size() > 1)) {
    std::vector<Factor> all;
    for (const Factor& f : u->factors)
      all.push_back({f.exponent.is_even() || f.base->is_nonnegative || !f.exponent.is_integer() ? f.base : absolute(f.base), f.exponent});
    return multiply(u->number.is_negative() ? -u->number : u->number, std::move(all));
  }
  return function(OpKind::abs_, {u}, is_integer(u) ? u->element : common_element(std::span(&u, 1)));
}

Expr ExprBuilder::maximum(Expr a, Expr b) {
  if (a == b) return a;
  if (a->is_negative_infinity()) return b;
  if (b->is_negative_infinity()) return a;
  std::vector<Expr> both{a, b};
  std::sort(both.begin(), both.end(), by_key);
  const Element element = common_element(both);
  return function(OpKind::maximum_, std::move(both), element);
}

Expr ExprBuilder::function(OpKind op, std::vector<Expr> operands, Element element, std::uint64_t bits) {
  // Odd functions: tanh(-x) = -tanh(x), and the like.
  if ((op == OpKind::tanh_ || op == OpKind::erf_) && split_coefficient(operands[0]).coefficient.is_negative())
    return scale(-1, function(op, {scale(-1, operands[0])}, element, bits));
  ExprData e;
  e.kind = ExprKind::function;
  e.element = element;
  e.function = op;
  e.operands = std::move(operands);
  e.bits = bits;
  return pool_.intern(std::move(e));
}

// ---- conditions ----

std::vector<Expr> conjuncts(Expr condition) {
  if (condition->is(ExprKind::conjunction)) return condition->operands;
  return {condition};
}

Expr ExprBuilder::at_least_zero(Expr e) {
  if (e->is(ExprKind::number)) return truth(!e->number.is_negative());
  return make(ExprKind::at_least_zero, {e}, Element::boolean);
}

Expr ExprBuilder::equal(Expr a, Expr b) {
  std::vector<Expr> both{a, b};
  std::sort(both.begin(), both.end(), by_key);
  return make(ExprKind::equal, std::move(both), Element::boolean);
}

Expr ExprBuilder::truth(bool holds) { return make(ExprKind::at_least_zero, {holds ? zero_ : number(-1)}, Element::boolean); }

Expr ExprBuilder::conjunction(std::span<const Expr> conditions) {
  std::vector<Expr> all;
  for (Expr c : conditions)
    for (Expr x : conjuncts(c)) {
      if (x == truth(false)) return x;
      if (x != truth(true)) all.push_back(x);
    }
  if (all.empty()) return truth(true);
  std::sort(all.begin(), all.end(), by_key);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() == 1) return all[0];
  return make(ExprKind::conjunction, std::move(all), Element::boolean);
}

Expr ExprBuilder::negation(Expr condition) {
  if (condition->is(ExprKind::negation)) return condition->operands[0];
  // not (e >= 0)  ->  -e - 1 >= 0
  if (condition->is(ExprKind::at_least_zero)) return at_least_zero(add({scale(-1, condition->operands[0]), number(-1)}));
  return make(ExprKind::negation, {condition}, Element::boolean);
}

Expr ExprBuilder::indicator(Expr condition) {
  if (condition == truth(true)) return one_;
  if (condition == truth(false)) return zero_;
  return multiply(1, {{make(ExprKind::indicator, {condition}, Element::f32), 1}});
}

Expr ExprBuilder::select(Expr condition, Expr value, Expr other) {
  if (value == other || condition == truth(true)) return value;
  if (condition == truth(false)) return other;
  if (condition->is(ExprKind::negation)) return select(condition->operands[0], other, value);
  // m ? (n ? a : b) : b = m and n ? a : b
  if (value->is(ExprKind::select) && value->operands[2] == other)
    return select(conjunction({condition, value->operands[0]}), value->operands[1], other);
  const bool is_float = !is_integer(value) && !is_integer(other) && value->element != Element::boolean;
  if (is_float && other == zero_) return multiply(1, {{value, 1}, {make(ExprKind::indicator, {condition}, Element::f32), 1}});
  if (is_float && value == zero_ && !other->is(ExprKind::infinity))
    return multiply(1, {{other, 1}, {make(ExprKind::indicator, {negation(condition)}, Element::f32), 1}});
  const Expr both[] = {value, other};
  return make(ExprKind::select, {condition, value, other}, value->element == Element::boolean ? Element::boolean : common_element(both));
}

// ---- reductions ----

Expr ExprBuilder::reduce(Combine combine, const AxisSet& axes, Expr body, Element operand_element) {
  if (axes.empty()) return body;
  const bool is_float = !is_integer(body) && body->element != Element::boolean;
  if (combine == Combine::min && is_float) return scale(-1, reduce(Combine::max, axes, scale(-1, body)));
  if (combine != Combine::sum) operand_element = Element::f32;
  const AxisSet here = axes.common(body->axes), absent = axes.without(here);
  if (combine == Combine::sum && (is_float || body->is(ExprKind::number))) return reduce_sum(here, absent, body, operand_element);
  const bool idempotent = combine == Combine::max || combine == Combine::min || combine == Combine::any || combine == Combine::all;
  if (here.empty() && idempotent) return body;
  if (combine == Combine::max && is_float) {
    const auto [c, rest] = split_coefficient(body);
    if (!c.is_one() && !c.is_negative()) return scale(c, reduce(combine, here, rest));
  }
  if (body->is(ExprKind::reduce) && body->combine == combine && idempotent && !here.intersects(body->bound)) {
    AxisSet all = here;
    all.insert(body->bound);
    return reduce(combine, all, body->operands[0]);
  }
  ExprData e;
  e.kind = ExprKind::reduce;
  e.element = body->element;
  e.combine = combine;
  e.bound = idempotent ? here : axes;
  e.operand_element = operand_element;
  e.operands = {body};
  return pool_.intern(std::move(e));
}

Expr ExprBuilder::arg_reduce(Combine combine, const AxisSet& axes, Expr body, Expr position) {
  ExprData e;
  e.kind = ExprKind::reduce;
  e.element = Element::i32;
  e.combine = combine;
  e.bound = axes;
  e.operand_element = Element::f32;
  e.operands = {body, position};
  return pool_.intern(std::move(e));
}

Expr ExprBuilder::reduce_by(std::uint32_t combiner, const AxisSet& axes, Expr body) {
  ExprData e;
  e.kind = ExprKind::reduce;
  e.element = body->element;
  e.combine = Combine::combine;
  e.bound = axes;
  e.operand_element = Element::f32;
  e.bits = combiner;
  e.operands = {body};
  return pool_.intern(std::move(e));
}

Expr ExprBuilder::reduce_sum(const AxisSet& here, const AxisSet& absent, Expr body, Element operand_element) {
  std::vector<Factor> outside;
  for (Axis a : absent) outside.push_back({extent(a->extent), 1});
  if (here.empty()) {
    outside.push_back({body, 1});
    return multiply(1, std::move(outside));
  }
  Term scaled = split_coefficient(body);
  if (body->is(ExprKind::add)) {
    const auto first = std::find_if(body->terms.begin(), body->terms.end(), [&](const Term& t) { return t.value != one_; });
    scaled = {first->coefficient, scale(Rational(1) / first->coefficient, body)};
  }
  std::vector<Factor> inside;
  for (const Factor& f : factors(scaled.value)) {
    if (f.base->axes.intersects(here) || f.base->is(ExprKind::exp))
      inside.push_back(f);
    else
      outside.push_back(f);
  }
  if (!outside.empty() || !scaled.coefficient.is_one()) {
    outside.push_back({reduce(Combine::sum, here, multiply(1, std::move(inside)), operand_element), 1});
    return multiply(scaled.coefficient, std::move(outside));
  }
  if (body->is(ExprKind::reduce) && body->combine == Combine::sum && !here.intersects(body->bound) &&
      body->operand_element == operand_element) {
    AxisSet all = here;
    all.insert(body->bound);
    return reduce(Combine::sum, all, body->operands[0], operand_element);
  }
  ExprData e;
  e.kind = ExprKind::reduce;
  e.element = body->element;
  e.combine = Combine::sum;
  e.bound = here;
  e.operand_element = operand_element;
  e.operands = {body};
  return pool_.intern(std::move(e));
}

// ---- references ----

Expr ExprBuilder::reference(Expr e) { return e->is(ExprKind::number) ? e : make(ExprKind::reference, {e}, e->element); }
Expr ExprBuilder::shift_reference(Expr e) { return e->is(ExprKind::number) ? e : make(ExprKind::shift_reference, {e}, e->element); }
Expr ExprBuilder::delta(Expr e) { return make(ExprKind::delta, {e}, e->element); }

// ---- substitution ----

Expr ExprBuilder::substitute(Expr e, const ExprMap& map, const ExprSet& opaque) {
  ExprMap done;
  const std::function<Expr(Expr)> visit = [&](Expr x) -> Expr {
    if (const auto at = map.find(x); at != map.end()) return at->second;
    if (opaque.count(x) != 0) return x;
    if (const auto at = done.find(x); at != done.end()) return at->second;
    Expr result = x;
    // A product may hold a replaced product as some of its factors.
    if (x->is(ExprKind::mul)) {
      std::vector<Factor> left = x->factors, replaced;
      for (const auto& [from, to] : map) {
        if (!from->is(ExprKind::mul) || !from->number.is_one()) continue;
        const auto holds = [&](const Factor& f) { return std::find(left.begin(), left.end(), f) != left.end(); };
        if (!std::all_of(from->factors.begin(), from->factors.end(), holds)) continue;
        for (const Factor& f : from->factors) left.erase(std::find(left.begin(), left.end(), f));
        replaced.push_back({to, 1});
      }
      for (Factor& f : left) f.base = visit(f.base);
      left.insert(left.end(), replaced.begin(), replaced.end());
      result = multiply(x->number, std::move(left));
    } else {
      result = rebuild(x, visit);
    }
    done.emplace(x, result);
    return result;
  };
  return visit(e);
}

Expr ExprBuilder::rebuild(Expr e, const std::function<Expr(Expr)>& visit) {
  std::vector<Expr> operands;
  bool changed = false;
  for (Expr x : e->operands) {
    operands.push_back(visit(x));
    changed |= operands.back() != x;
  }
  if (e->is(ExprKind::add)) {
    std::vector<Term> terms;
    std::vector<Expr> values;
    for (const Term& t : e->terms) values.push_back(scale(t.coefficient, visit(t.value)));
    return add(values);
  }
  if (!changed) return e;
  switch (e->kind) {
    case ExprKind::load: return load(e->tensor, std::move(operands));
    case ExprKind::exp: return exp(operands[0]);
    case ExprKind::log: return log(operands[0]);
    case ExprKind::function:
      if (e->function == OpKind::abs_ && !is_integer(e)) return absolute(operands[0]);
      if (e->function == OpKind::maximum_ && !is_integer(e)) return maximum(operands[0], operands[1]);
      return function(e->function, std::move(operands), e->element, e->bits);
    case ExprKind::select: return select(operands[0], operands[1], operands[2]);
    case ExprKind::at_least_zero: return at_least_zero(operands[0]);
    case ExprKind::equal: return equal(operands[0], operands[1]);
    case ExprKind::conjunction: return conjunction(operands);
    case ExprKind::negation: return negation(operands[0]);
    case ExprKind::indicator: return indicator(operands[0]);
    case ExprKind::random: return random(e->bits, operands[0]);
    case ExprKind::reduce:
      if (e->combine == Combine::argmax || e->combine == Combine::argmin) return arg_reduce(e->combine, e->bound, operands[0], operands[1]);
      if (e->combine == Combine::combine) return reduce_by(static_cast<std::uint32_t>(e->bits), e->bound, operands[0]);
      return reduce(e->combine, e->bound, operands[0], e->operand_element);
    case ExprKind::reference: return reference(operands[0]);
    case ExprKind::shift_reference: return shift_reference(operands[0]);
    case ExprKind::delta: return delta(operands[0]);
    default: break;
  }
  TW_CHECK(false, "fusion: an expression without operands has changed");
  return e;
}

}  // namespace tilewright::passes::fusion
