// Makes reductions, references and substitutions in normal form.
#include <algorithm>
#include <functional>
#include <utility>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/leading_coefficient.h"
#include "passes/fusion/expr/magnitude.h"
#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/expr/products.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

using graph::Combine;
using ir::Element;
using ir::OpKind;

// ---- reductions ----

Expr ExprBuilder::reduce(Combine combine, const AxisSet& axes, Expr body, ProductElement operand_element, std::optional<Element> element) {
  const Element result = element.value_or(body->element);
  if (axes.empty()) return ir::is_integer(result) ? wrapped(body, result) : body;
  if (combine == Combine::sum && body == zero_) return zero_;
  if (!rewrites()) return make_reduction(combine, axes, body, operand_element, result);
  const bool is_float = ir::is_float(result);
  if (combine == Combine::min && is_float) return scale(-1, reduce(Combine::max, axes, scale(-1, body), operand_element, result));
  if (combine != Combine::sum) operand_element = {};
  const AxisSet here = axes.common(body->axes), absent = axes.without(here);
  if (combine == Combine::sum && is_float) return reduce_sum(here, absent, body, operand_element, result);
  if (combine == Combine::sum && body->is(ExprKind::number)) {
    std::vector<Factor> count{{body, 1}};
    for (Axis a : absent) count.push_back({extent(a->extent), 1});
    return wrapped(multiply(1, count), result);
  }
  const bool idempotent = combine == Combine::max || combine == Combine::min || combine == Combine::any || combine == Combine::all;
  if (here.empty() && idempotent) return body;
  if (combine == Combine::max && is_float) {
    const auto [c, rest] = split_coefficient(body);
    if (!c.is_one() && c > Rational(0)) return scale(c, reduce(combine, here, rest, operand_element, result));
  }
  if (body->is(ExprKind::reduce) && body->combine == combine && body->element == result && idempotent && !here.intersects(body->bound)) {
    AxisSet all = here;
    all.insert(body->bound);
    return reduce(combine, all, body->operands[0], operand_element, result);
  }
  return make_reduction(combine, idempotent ? here : axes, body, operand_element, result);
}

Expr ExprBuilder::make_reduction(Combine combine, const AxisSet& bound, Expr body, const ProductElement& operand_element, Element result) {
  ExprData e;
  e.kind = ExprKind::reduce;
  e.element = result;
  e.combine = combine;
  e.bound = bound;
  e.operand_element = operand_element;
  // The precision of products is not part of a sum that has none.
  if (rewrites() && operand_element.precision != ProductElement().precision && !may_become_product(body, bound))
    e.operand_element.precision = ProductElement().precision;
  e.operands = {body};
  return pool_.intern(std::move(e));
}

Expr ExprBuilder::reduce_by(const CombiningFunction& function, Axis axis, Expr body) {
  ExprData e;
  e.kind = ExprKind::reduce;
  e.element = body->element;
  e.combine = Combine::combine;
  e.bound = {axis};
  e.bits = pool_.add_function(function);
  e.operands = {body};
  return pool_.intern(std::move(e));
}

Expr ExprBuilder::scan(Combine combine, Axis axis, bool reverse, Expr body, Expr position, Element element) {
  TW_CHECK(!position->axes.contains(axis), "fusion: the axis of a scan is an axis of its position");
  ExprData e;
  e.kind = ExprKind::scan;
  e.element = element;
  e.combine = combine;
  e.bound = {axis};
  e.bits = reverse ? 1 : 0;
  e.operands = {body, position};
  return pool_.intern(std::move(e));
}

namespace {

// Adds the axes of the values that an expression reads, without the axes of a sum along which they vary.
void add_axes_of_reads(Expr e, const AxisSet& along, std::vector<AxisSet>& found) {
  ExprSet seen;
  walk_inwards(e, seen, [&](Expr x) {
    const bool is_whole = x->is(ExprKind::load) || x->is(ExprKind::reduce) || x->is(ExprKind::scan) || x->is(ExprKind::indicator);
    if (is_whole && x->axes.intersects(along)) found.push_back(x->axes.without(along));
    return !is_whole;
  });
}

// Whether a sum of a body that reads values with these axes may become a product of two operands: some lack different axes of the result.
bool may_be_product(std::vector<AxisSet> read) {
  std::sort(read.begin(), read.end(), [](const AxisSet& x, const AxisSet& y) { return x.size() < y.size(); });
  return std::adjacent_find(read.begin(), read.end(), [](const AxisSet& x, const AxisSet& y) { return !y.contains(x); }) != read.end();
}

}  // namespace

// What masks hide matters for the operands of products alone, by axes. Without it, equal masks of all other sums are one expression.
Expr ExprBuilder::with_plain_masks(Expr body, const AxisSet& along, Expr exponent) {
  const auto hides = [](const Factor& f) { return f.base->is(ExprKind::indicator) && (!f.base->hides.empty() || f.base->hidden_tensors); };
  const auto may_be_infinite = [](const Factor& f) { return finiteness(f) != Finite::always; };
  std::vector<Term> all = terms(body);
  bool is_plain = true;
  for (const Term& t : all) {
    const std::vector<Factor> own = factors(t.value);
    is_plain = is_plain && std::none_of(own.begin(), own.end(), hides);
  }
  if (is_plain) return body;
  std::vector<AxisSet> read;
  for (Expr e : {body, exponent})
    if (e) add_axes_of_reads(e, along, read);
  const bool keeps = may_be_product(std::move(read));
  for (Term& t : all) {
    std::vector<Factor> own = factors(t.value);
    const bool keeps_axes = keeps && std::any_of(own.begin(), own.end(), may_be_infinite);
    for (Factor& f : own)
      if (hides(f)) f.base = mask(f.base->operands[0], keeps_axes ? f.base->hides : AxisSet(), f.base->element);
    t.value = multiply(1, own);
  }
  const Expr plain = add_terms(all);
  pool_.copy_sources(body, plain);
  if (const WrittenValue* written = pool_.written_value(body)) pool_.note_written_value(plain, WrittenValue(*written));
  return plain;
}

// Moves back factors that must not leave a sum; returns the coefficient that stays inside. See magnitude.h.
Rational ExprBuilder::keep_in_range(Rational& coefficient, std::vector<Factor>& outside, std::vector<Factor>& inside,
                                    Element operand_element) {
  if (outside.empty() && coefficient.is_one()) return 1;
  const Expr product = multiply(1, inside);
  const bool is_kept = is_narrow(operand_element) && !factors_fit_operand(*this, product, operand_element);
  const bool is_free = !is_kept && is_linear(*this, product);
  const auto stays = [&](const Factor& f) {
    return !f.base->is(ExprKind::extent) && (is_kept || !(is_moderate(*this, multiply(1, {f})) || (is_free && !f.base->is_numeric)));
  };
  // If any factor stays, extents stay as well: the product is then as written, in an order of factors that keeps its range.
  const bool as_written = std::any_of(outside.begin(), outside.end(), stays);
  for (auto f = outside.begin(); f != outside.end();) {
    const bool is_inside = stays(*f) || (as_written && f->base->is(ExprKind::extent));
    if (is_inside) inside.push_back(*f);
    f = is_inside ? outside.erase(f) : f + 1;
  }
  const bool leaves = !is_kept && is_moderate(coefficient);
  return leaves ? Rational(1) : std::exchange(coefficient, 1);
}

Expr ExprBuilder::reduce_sum(const AxisSet& here, const AxisSet& absent, Expr body, ProductElement operand_element, Element result) {
  body = with_plain_masks(body, here);
  std::vector<Factor> outside;
  for (Axis a : absent) outside.push_back({extent(a->extent, result), 1});
  // A sum over no elements is 0, whatever factor precedes it.
  AxisSet all_axes = here;
  all_axes.insert(absent);
  const auto of_some = [&](const std::vector<Factor>& factors, Expr product) {
    const bool is_finite = std::all_of(factors.begin(), factors.end(), [](const Factor& f) {
      return !f.exponent.is_negative() && (f.base->is(ExprKind::number) || f.base->is(ExprKind::extent) || f.base->is(ExprKind::indicator));
    });
    return is_finite ? product : select(have_positions(all_axes), product, zero_, result);
  };
  if (here.empty()) {
    outside.push_back({body, 1});
    return of_some(outside, multiply(1, outside));
  }
  Term scaled = split_coefficient(body);
  if (body->is(ExprKind::add)) {
    const Rational c = leading_coefficient(*this, body);
    if (const std::optional<Expr> divided = scaled_sum(Rational(1) / c, body)) scaled = {c, *divided};
  }
  // Masks leave together: a softmax's exponentials are at most 1 where all of its masks hold. They stay with factors that may be infinite for
  // finite data: 0 times a sum of these may be NaN, where they multiply the 0 of a mask that hides other factors.
  const std::vector<Factor> all_factors = factors(scaled.value);
  const auto is_mask = [](const Factor& f) { return f.base->is(ExprKind::indicator); };
  const bool masks_stay = std::any_of(all_factors.begin(), all_factors.end(), [&](const Factor& f) {
    return f.base->axes.intersects(here) && (is_mask(f) || finiteness(f) == Finite::unknown);
  });
  const auto is_tested = [&](const Factor& f) {
    return std::any_of(all_factors.begin(), all_factors.end(),
                       [&](const Factor& mask) { return is_mask(mask) && mask.base->axes.intersects(here) && tests(mask, f); });
  };
  std::vector<Factor> inside;
  for (const Factor& f : all_factors) {
    if (f.base->axes.intersects(here) || f.base->is(ExprKind::exp) || (is_mask(f) ? masks_stay : is_tested(f)))
      inside.push_back(f);
    else
      outside.push_back(f);
  }
  const Rational kept = keep_in_range(scaled.coefficient, outside, inside, operand_element.element);
  if (!outside.empty() || !scaled.coefficient.is_one()) {
    std::vector<Factor> all = outside;
    all.push_back({reduce(Combine::sum, here, multiply(kept, inside), operand_element, result), 1});
    return of_some(outside, multiply(scaled.coefficient, all));
  }
  // The outer sum has no products: its precision does not matter.
  if (body->is(ExprKind::reduce) && body->combine == Combine::sum && !here.intersects(body->bound) &&
      body->operand_element.element == operand_element.element && body->element == result) {
    all_axes.insert(body->bound);
    return reduce(Combine::sum, all_axes, body->operands[0], body->operand_element, result);
  }
  return make_reduction(Combine::sum, here, body, operand_element, result);
}

// ---- references ----

// If a number is rounded to a narrow type, a reference to it and its change are floats like any other.
Expr ExprBuilder::reference(Expr e) { return e->is(ExprKind::number) ? e : make(ExprKind::reference, {e}, computed(e->element)); }
Expr ExprBuilder::shift_reference(Expr e) {
  return e->is(ExprKind::number) ? e : make(ExprKind::shift_reference, {e}, computed(e->element));
}
Expr ExprBuilder::delta(Expr e) { return make(ExprKind::delta, {e}, computed(e->element)); }

std::vector<Tensor> tensors_of(Expr e) {
  std::vector<Tensor> tensors;
  for (Expr x : collect(e, ExprKind::load)) tensors.push_back(x->tensor);
  return tensors;
}

void ExprBuilder::note_written(Expr value, const WrittenValue& written) {
  // A product contains a sum without its coefficient.
  const auto without_coefficient = [&](Expr e) {
    if (!e->is(ExprKind::add) || is_integer(e)) return e;
    const Rational c = coefficient_of_factor(*this, e);
    return c.is_one() ? e : scaled_sum(Rational(1) / c, e).value_or(e);
  };
  const auto parts = [&](Expr e) {
    std::vector<Expr> all;
    if (e->is(ExprKind::number) && written.kind != WrittenValue::Kind::sum) return all;
    if (value->is(ExprKind::add))
      for (const Term& t : terms(e)) all.push_back(t.value);
    else
      for (const Factor& f : factors(e))  // masks are 0 or 1, in any order
        if (!f.base->is_numeric && !f.base->is(ExprKind::indicator)) all.push_back(without_coefficient(f.base));
    return all;
  };
  if (!value->is(ExprKind::mul) && !value->is(ExprKind::add)) return;
  if (written.kind == WrittenValue::Kind::sum && !value->is(ExprKind::add)) return;  // 3 x - x is a product, and x - x is 0 x
  const std::vector<Expr> whole = parts(value);
  for (Expr part : {written.left, written.right}) {
    if (!part) continue;
    if (part == value) return;
    const std::vector<Expr> own = parts(part);
    if (!std::all_of(own.begin(), own.end(), [&](Expr e) { return std::find(whole.begin(), whole.end(), e) != whole.end(); })) return;
  }
  pool_.note_written_value(value, written);
}

// ---- substitution ----

namespace {

// The factors of a product without those of products that are replaced, which may be some of its factors.
std::vector<Factor> take_products(std::vector<Factor> left, const ExprMap& map, std::vector<Factor>& replaced) {
  for (const auto& [from, to] : map) {
    if (!from->is(ExprKind::mul) || !from->number.is_one()) continue;
    const auto holds = [&](const Factor& f) { return std::find(left.begin(), left.end(), f) != left.end(); };
    if (!std::all_of(from->factors.begin(), from->factors.end(), holds)) continue;
    for (const Factor& f : from->factors) left.erase(std::find(left.begin(), left.end(), f));
    replaced.push_back({to, 1});
  }
  return left;
}

}  // namespace

// Expressions are made again after their parts. As it is written, a value has other parts than in normal form: these are walked when it has
// changed.
Expr ExprBuilder::substitute(Expr e, const ExprMap& map, const ExprSet& opaque) {
  ExprMap done;
  const auto enter = [&](Expr x) { return !map.contains(x) && !opaque.contains(x) && !done.contains(x); };
  const auto replaced_by = [&](Expr x) {
    const auto at = map.find(x);
    return at != map.end() ? at->second : opaque.contains(x) ? x : done.at(x);
  };
  const auto rebuilt = [&](Expr x) {
    if (x->is(ExprKind::indicator) && (!x->hides.empty() || x->hidden_tensors)) {
      AxisSet hidden;
      for (Axis a : x->hides) {
        const auto moved = map.find(index(a));
        hidden.insert(moved == map.end() ? AxisSet{a} : moved->second->axes);
      }
      return mask(replaced_by(x->operands[0]), hidden, x->element, x->hidden_tensors);
    }
    if (!x->is(ExprKind::mul)) return rebuild(x, replaced_by);
    std::vector<Factor> replaced, left = take_products(x->factors, map, replaced);
    bool changed = !replaced.empty();
    for (Factor& f : left) {
      const Expr base = replaced_by(f.base);
      changed |= base != f.base;
      f.base = base;
    }
    if (!changed) return x;
    left.insert(left.end(), replaced.begin(), replaced.end());
    return multiply(x->number, left);
  };
  std::function<Expr(Expr)> run;
  const auto make = [&](Expr x) {
    const Expr result = rebuilt(x);
    if (result != x) {
      pool_.copy_sources(x, result);
      if (const WrittenValue* written = pool_.written_value(x)) {
        WrittenValue own = *written;
        own.left = run(own.left);
        if (own.right) own.right = run(own.right);
        note_written(result, own);
      }
    }
    done.emplace(x, result);
  };
  run = [&](Expr root) {
    walk(root, enter, make);
    return replaced_by(root);
  };
  return run(e);
}

Expr ExprBuilder::rebuild(Expr e, const std::function<Expr(Expr)>& visit) {
  std::vector<Expr> operands;
  bool changed = false;
  for (Expr x : e->operands) {
    operands.push_back(visit(x));
    changed |= operands.back() != x;
  }
  if (e->is(ExprKind::add)) {
    std::vector<Expr> values;
    for (const Term& t : e->terms) {
      const Expr value = visit(t.value);
      changed |= value != t.value;
      values.push_back(scale(t.coefficient, value));
    }
    return changed ? add(values) : e;
  }
  if (!changed) return e;
  switch (e->kind) {
    case ExprKind::load: return load(e->tensor, std::move(operands), e->bits != 0);
    case ExprKind::exp: return exp(operands[0]);
    case ExprKind::log: return log(operands[0]);
    case ExprKind::function:
      // If formulas are kept, max(x, x) stays as it is: then a value and what a plan makes of it are the same function of the same values.
      if (rewrites() && e->function == OpKind::abs_ && !is_integer(e)) return absolute(operands[0]);
      if (rewrites() && e->function == OpKind::maximum_ && !is_integer(e)) return maximum(operands[0], operands[1]);
      return function(e->function, std::move(operands), e->element, e->bits);
    case ExprKind::select: return select(operands[0], operands[1], operands[2], e->element);
    case ExprKind::at_least_zero: return at_least_zero(operands[0]);
    case ExprKind::equal: return equal(operands[0], operands[1]);
    case ExprKind::conjunction: return conjunction(operands);
    case ExprKind::negation: return negation(operands[0]);
    case ExprKind::indicator:
      if (e->hides.empty() && !e->hidden_tensors) return indicator(operands[0], e->element);
      return mask(operands[0], e->hides, e->element, e->hidden_tensors);
    case ExprKind::random: return random(e->bits, operands[0]);
    case ExprKind::reduce:
      if (e->combine == Combine::combine) return reduce_by(pool_.function(e->fold().function), *e->bound.begin(), operands[0]);
      return reduce(e->combine, e->bound, operands[0], e->operand_element, e->element);
    case ExprKind::scan: return scan(e->combine, *e->bound.begin(), e->bits != 0, operands[0], operands[1], e->element);
    case ExprKind::reference: return reference(operands[0]);
    case ExprKind::shift_reference: return shift_reference(operands[0]);
    case ExprKind::delta: return delta(operands[0]);
    default: break;
  }
  TW_CHECK(false, "fusion: an expression without operands has changed");
  return e;
}

}  // namespace tilewright::passes::fusion
