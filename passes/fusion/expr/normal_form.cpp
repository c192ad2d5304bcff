// Makes leaves, sums and functions in normal form.
#include "passes/fusion/expr/normal_form.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>

#include "passes/fusion/expr/integer_range.h"
#include "passes/fusion/expr/magnitude.h"
#include "passes/fusion/thresholds.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/symbols.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using ir::Element;
using ir::OpKind;

// A value that is infinite where a term with a great number is; the value of any other term.
Expr with_great_number(ExprBuilder& b, const Term& t) {
  std::vector<Factor> numbers, rest;
  for (const Factor& f : b.factors(t.value)) (f.base->is(ExprKind::number) || f.base->is(ExprKind::constant) ? numbers : rest).push_back(f);
  if (is_moderate(t.coefficient) && numbers.empty()) return t.value;
  const Expr great = numbers.empty() ? b.number(t.coefficient) : numbers[0].base, x = b.multiply(1, rest);
  return b.function(OpKind::mul_, {x, great}, common_element(std::array{x, great}));
}

}  // namespace

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

// ---- leaves ----

ExprBuilder::ExprBuilder(ExprPool& pool, Rewriting rewriting) : pool_(pool), rewriting_(rewriting) {
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
  return unreduced(std::isnan(value) ? std::nan("") : value);
}

Expr ExprBuilder::negative_zero() { return unreduced(-0.0); }

Expr ExprBuilder::unreduced(double value) {
  ExprData e;
  e.kind = ExprKind::constant;
  e.element = Element::f32;
  e.bits = std::bit_cast<std::uint64_t>(value);
  return pool_.intern(std::move(e));
}

Expr ExprBuilder::extent(const Dim& dim, Element element) {
  if (dim.is_constant()) return number(dim.value());
  // A product of symbols becomes a product of expressions: 1 / (n m) = 1 / n * 1 / m.
  for (std::uint32_t symbol : dim.symbols()) {
    const Dim factor = dim.table()->dim(symbol);
    if (factor == dim) break;
    if (const auto rest = Dim::divide_exactly(dim, factor)) return product({extent(factor, element), extent(*rest, element)});
  }
  ExprData e;
  e.kind = ExprKind::extent;
  e.element = element;
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

Expr ExprBuilder::load(Tensor tensor, std::vector<Expr> indices, bool may_leave) {
  ExprData e;
  e.kind = ExprKind::load;
  e.element = ir::is_float(tensor->element) && tensor->element != Element::f64 ? Element::f32 : tensor->element;
  e.tensor = tensor;
  e.operands = std::move(indices);
  e.bits = may_leave ? 1 : 0;
  return pool_.intern(std::move(e));
}

// ---- sums ----

std::optional<Rational> ExprBuilder::added(const Rational& a, const Rational& b) {
  try {
    return a + b;
  } catch (const ir::RationalOverflow&) {
    const std::optional<Rational> rounded = Rational::from_double(a.to_double() + b.to_double());
    has_rounded_ = has_rounded_ || rounded.has_value();
    return rounded;
  }
}

std::optional<Expr> ExprBuilder::scaled_sum(const Rational& c, Expr sum) {
  std::vector<Term> scaled;
  // A multiple of a sum is noted as the written sum times a number.
  WrittenValue multiple{WrittenValue::Kind::product, sum, {}};
  Rational all = c;
  try {
    for (const Term& t : sum->terms) scaled.push_back({c * t.coefficient, t.value});
    const WrittenValue* written = pool_.written_value(sum);
    if (!written) return add_terms(scaled);
    if (written->kind == WrittenValue::Kind::product && written->right->is(ExprKind::number)) {
      multiple.left = written->left;
      all = c * written->right->number;
    }
  } catch (const ir::RationalOverflow&) {
    return std::nullopt;
  }
  multiple.right = number(all);
  const Expr product = add_terms(scaled);
  if (product->is(ExprKind::add)) note_written(product, multiple);
  return product;
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

// Merges the terms of a sum. 0 x stays where x may be infinite: x - x is NaN for an infinite x.
Expr ExprBuilder::sum_of(std::span<const Term> given) {
  std::map<ExprKey, Term> merged;
  std::vector<Term> apart;  // terms whose coefficient does not fit into one number together with that of an equal term
  for (const Term& t : given) {
    const auto [at, is_new] = merged.emplace(t.value->key, t);
    if (is_new) continue;
    // 3e38 x - 3e38 x is NaN where 3e38 x is infinite, which 0 x may not be.
    if (t.coefficient == -at->second.coefficient && t.value->finite != Finite::always) at->second.value = with_great_number(*this, t);
    if (const std::optional<Rational> both = added(at->second.coefficient, t.coefficient))
      at->second.coefficient = *both;
    else
      apart.push_back(t);
  }
  ExprData sum;
  std::vector<Expr> values;
  for (auto& [key, t] : merged)
    if (!t.coefficient.is_zero() || t.value->finite != Finite::always) sum.terms.push_back(t), values.push_back(t.value);
  if (!apart.empty()) return sum_of_functions(sum.terms, apart);
  std::stable_sort(sum.terms.begin(), sum.terms.end(), [](const Term& a, const Term& b) { return by_key(a.value, b.value); });
  if (sum.terms.empty()) return zero_;
  if (sum.terms.size() == 1) return scale(sum.terms[0].coefficient, sum.terms[0].value);
  sum.kind = ExprKind::add;
  sum.element = common_element(values);
  return pool_.intern(std::move(sum));
}

// If coefficients would need more than 127 bits, as those of a value that is doubled again and again, they are not added: the sum stays as
// it is written, and is one term of other sums.
Expr ExprBuilder::sum_of_functions(std::span<const Term> merged, std::span<const Term> apart) {
  Expr all = sum_of(merged);
  for (const Term& t : apart) {
    const Expr x = scale(t.coefficient, t.value);
    all = function(OpKind::add_, {all, x}, common_element(std::array{all, x}));
  }
  return all;
}

// The mask of an additive mask becomes the mask of the sum. A negative multiple of such a mask is +inf where it hides and stays a term. A
// value that may be +inf or NaN where the mask does not hold stays a term too, since -inf does not hide it.
Expr ExprBuilder::add_terms(std::span<const Term> given) {
  std::vector<Term> masked, inside, outside;
  for (const Term& t : given) {
    const bool is_mask = is_masked(t.value) && t.coefficient.is_one();
    const bool is_finite = t.value->finite > Finite::unless_hidden && !t.coefficient.is_zero();
    (is_mask ? masked : is_finite ? inside : outside).push_back(t);
  }
  if (masked.empty()) return sum_of(given);
  std::vector<Expr> conditions, masks, values{sum_of(inside)};
  for (const Term& m : masked) {
    conditions.push_back(m.value->operands[0]);
    masks.push_back(m.value);
    values.push_back(m.value->operands[1]);
  }
  const Expr sum = select(conjunction(conditions), add(values), negative_infinity_, common_element(masks));
  if (outside.empty()) return sum;
  if (!is_masked(sum)) {
    for (const Term& t : terms(sum)) outside.push_back(t);
    return add_terms(outside);
  }
  outside.push_back({1, sum});
  return sum_of(outside);
}

Expr ExprBuilder::scale(const Rational& c, Expr e) {
  if (c.is_one()) return e;
  if (c.is_zero() && e->finite == Finite::always) return zero_;
  if (e->is(ExprKind::infinity)) {
    if (c.is_zero()) return constant(std::nan(""));
    ExprData infinity;
    infinity.kind = ExprKind::infinity;
    infinity.element = Element::f32;
    infinity.number = c.is_negative() == e->number.is_negative() ? 1 : -1;
    return pool_.intern(std::move(infinity));
  }
  if (e->is(ExprKind::add))
    if (const std::optional<Expr> sum = scaled_sum(c, e)) return *sum;
  // A masked value keeps its infinity, with the sign of the coefficient.
  if (e->is(ExprKind::select) && e->operands[2]->is(ExprKind::infinity))
    return select(e->operands[0], scale(c, e->operands[1]), scale(c, e->operands[2]), e->element);
  return multiply(c, {{e, 1}});
}

// ---- functions ----

Expr ExprBuilder::absolute(Expr u) {
  if (u->is_nonnegative) return u;
  if (u->is(ExprKind::number)) return number(-u->number);
  if (u->is(ExprKind::mul) && !is_integer(u) && (!u->number.is_one() || u->factors.size() > 1)) {
    std::vector<Factor> all;
    for (const Factor& f : u->factors) all.push_back({is_nonnegative(f) ? f.base : absolute(f.base), f.exponent});
    return multiply(u->number.is_negative() ? -u->number : u->number, all);
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

Expr ExprBuilder::wrapped(Expr integer, Element element) {
  if (integer->element == element || fits(integer_range(integer), element)) return integer;
  if (integer->is(ExprKind::number)) {
    const ir::Int128 values = ir::Int128{1} << ir::bits(element), least = ir::is_signed(element) ? -values / 2 : 0;
    const ir::Int128 above = (integer->number.numerator() - least) % values;
    return number(Rational(above + (above < 0 ? values : 0) + least, 1));
  }
  return function(OpKind::cast_, {integer}, element);
}

Expr ExprBuilder::function(OpKind op, std::vector<Expr> operands, Element element, std::uint64_t bits) {
  // Odd functions, such as tanh(-x) = -tanh(x).
  if (rewrites() && (op == OpKind::tanh_ || op == OpKind::erf_) && split_coefficient(operands[0]).coefficient.is_negative())
    return scale(-1, function(op, {scale(-1, operands[0])}, element, bits));
  ExprData e;
  e.kind = ExprKind::function;
  e.element = element;
  e.function = op;
  e.operands = std::move(operands);
  e.bits = bits;
  return pool_.intern(std::move(e));
}

// Narrow floats are computed in f32: `bits` names the two types whose bits are equal.
Expr ExprBuilder::bitcast(Expr x, Element from, Element to) {
  return function(OpKind::bitcast_, {x}, computed(to), bitcast_types(from, to));
}

}  // namespace tilewright::passes::fusion
