// Evaluates expressions at points of the field.
#include "passes/fusion/check/field_eval.h"

#include <algorithm>
#include <string_view>

#include "passes/fusion/thresholds.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

namespace {

using ir::OpKind;

std::uint64_t hash_point(std::uint64_t h, const Point& p) {
  for (const auto& [axis, position] : p) {
    h = mix(h, std::hash<std::string_view>{}(axis->name));
    h = mix(h, static_cast<std::uint64_t>(position));
  }
  return h;
}

// The result is never 0, so it has an inverse.
std::uint64_t residue(std::uint64_t h, const Modulus& m) { return mix(h, m.prime()) % (m.prime() - 1) + 1; }

}  // namespace

bool is_odd(Expr e) {
  return e->is(ExprKind::function) && (e->function == OpKind::tanh_ || e->function == OpKind::erf_) && ir::is_float(e->element);
}

int checked_extent(Axis axis, Axis loop) { return axis == loop ? kLoopOfCheck : kPositionsOfCheck; }

std::vector<Point> points(const AxisSet& axes, Axis loop) {
  std::vector<Point> all(1);
  for (Axis a : axes) {
    std::vector<Point> longer;
    for (const Point& p : all)
      for (int i = 0; i < checked_extent(a, loop); ++i) {
        longer.push_back(p);
        longer.back()[a] = i;
      }
    all = std::move(longer);
  }
  return all;
}

Point restricted(const Point& p, const AxisSet& axes) {
  Point kept;
  for (Axis a : axes) kept[a] = p.at(a);
  return kept;
}

std::uint64_t random_residue(std::uint64_t seed, const ExprKey& name, const Point& p, const Modulus& m) {
  return residue(hash_point(mix(seed, mix(name.high, name.low)), p), m);
}

std::uint64_t FieldEvaluator::value(Expr e, const Point& p, const Modulus& m) {
  if (const auto given = override_(e, p, m)) return *given;
  if (e->is(ExprKind::number)) return m.of(e->number);
  return known_or(m.prime() == Modulus::values().prime() ? known_ : known_exponents_, e, p, [&] { return compute(e, p, m); });
}

std::uint64_t FieldEvaluator::compute(Expr e, const Point& p, const Modulus& m) {
  switch (e->kind) {
    case ExprKind::index: return m.of(p.at(e->axis));
    case ExprKind::load: {
      std::uint64_t h = mix(seed_, std::hash<std::string_view>{}(e->tensor->name));
      for (Expr i : e->operands) h = mix(h, static_cast<std::uint64_t>(integer(i, p)));
      if (ir::is_float(e->element)) return residue(h, m);
      return m.of(static_cast<std::int64_t>(mix(h, 1) % 5));
    }
    case ExprKind::add: {
      std::uint64_t sum = 0;
      for (const Term& t : e->terms) sum = m.add(sum, m.multiply(m.of(t.coefficient), value(t.value, p, m)));
      return sum;
    }
    case ExprKind::mul: {
      std::uint64_t product = m.of(e->number);
      for (const Factor& f : e->factors) product = m.multiply(product, field_power(m, value(f.base, p, m), f.exponent));
      return product;
    }
    case ExprKind::exp: return field_exp(value(e->operands[0], p, Modulus::exponents())) % m.prime();
    case ExprKind::indicator: return holds(e->operands[0], p) ? 1 : 0;
    case ExprKind::select: return value(holds(e->operands[0], p) ? e->operands[1] : e->operands[2], p, m);
    case ExprKind::reduce: {
      if ((e->combine == graph::Combine::max || e->combine == graph::Combine::min) && ir::is_float(e->element))
        return extreme(e->combine, e->bound, e->operands[0], p, m);
      if (e->combine != graph::Combine::sum) break;
      std::uint64_t sum = 0;
      for (const Point& inner : points(e->bound, loop_)) {
        Point all = p;
        for (const auto& [axis, position] : inner) all[axis] = position;
        sum = m.add(sum, m.multiply(weight(inner, m), value(e->operands[0], all, m)));
      }
      return sum;
    }
    case ExprKind::scan: return scan(e, p, m);
    case ExprKind::extent: return m.of(extent(e->extent));
    case ExprKind::function:
      // |x| is multiplicative, like the square.
      if (e->function == OpKind::abs_ && ir::is_float(e->element)) {
        const std::uint64_t x = value(e->operands[0], p, m);
        return m.multiply(x, x);
      }
      if (is_odd(e)) return odd(e, p, m);
      if (e->function == OpKind::cast_ && ir::is_float(e->element) && ir::is_integer(e->operands[0]->element))
        return value(e->operands[0], p, m);
      if (is_guard(e)) return 1;  // values of the field are always finite
      if (e->function == OpKind::maximum_ && ir::is_float(e->element))
        if (const std::uint64_t x = value(e->operands[0], p, m); x == value(e->operands[1], p, m)) return x;
      break;
    case ExprKind::reference:
    case ExprKind::shift_reference:
    case ExprKind::delta: TW_CHECK(false, "fusion: a reference without a value");
    default: break;
  }
  return hashed(e, p, m);
}

// Sums and products up to a position; other combinations are represented by hashes.
std::uint64_t FieldEvaluator::scan(Expr e, const Point& p, const Modulus& m) {
  const Expr position = e->operands[1];
  const bool is_sum = e->combine == graph::Combine::sum;
  if (!position->is(ExprKind::index) || (!is_sum && e->combine != graph::Combine::prod)) return hashed(e, p, m);
  const bool is_reverse = e->bits != 0;
  const std::int64_t here = p.at(position->axis), last = checked_extent(position->axis, loop_) - 1;
  std::uint64_t result = is_sum ? 0 : 1;
  for (std::int64_t i = is_reverse ? here : 0; i <= (is_reverse ? last : here); ++i) {
    Point at = p;
    at[*e->bound.begin()] = i;
    const std::uint64_t x = value(e->operands[0], at, m);
    result = is_sum ? m.add(result, x) : m.multiply(result, x);
  }
  return result;
}

// The values of symbols are chosen so that quotients of extents are integers.
std::int64_t FieldEvaluator::extent(const Dim& d) const {
  if (d.is_constant()) return d.value();
  constexpr std::int64_t kHighlyComposite = 5040;
  std::vector<std::int64_t> values(d.symbols().back() + 1);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = kHighlyComposite * static_cast<std::int64_t>(mix(seed_, i) % 64 + 1);
  return d.evaluate(values).value_or(kHighlyComposite);
}

// Each position of an axis except the last one has a random weight; the last one has the rest. The loop visits each position of its axis
// once.
std::uint64_t FieldEvaluator::weight(const Point& inner, const Modulus& m) const {
  std::uint64_t product = 1;
  for (const auto& [axis, position] : inner) {
    if (axis == loop_) continue;
    const auto of = [&](std::int64_t i) { return residue(mix(hash_point(seed_, {{axis, i}}), 3), m); };
    std::uint64_t w = of(position);
    if (const int last = checked_extent(axis, loop_) - 1; position == last) {
      w = m.of(extent(axis->extent));
      for (std::int64_t i = 0; i < last; ++i) w = m.subtract(w, of(i));
    }
    product = m.multiply(product, w);
  }
  return product;
}

// f(-x) = -f(x): uses the hash of x or of -x, whichever residue is less.
std::uint64_t FieldEvaluator::odd(Expr e, const Point& p, const Modulus& m) {
  const std::uint64_t x = value(e->operands[0], p, m), opposite = m.subtract(0, x);
  const std::uint64_t h = residue(mix(mix(seed_, static_cast<std::uint64_t>(e->function)), std::min(x, opposite)), m);
  return x == 0 ? 0 : x < opposite ? h : m.subtract(0, h);
}

// The value of a function without a law: a hash of its name and operands.
std::uint64_t FieldEvaluator::hashed(Expr e, const Point& p, const Modulus& m) {
  std::uint64_t h = mix(seed_, static_cast<std::uint64_t>(e->kind) * 1024 + static_cast<std::uint64_t>(e->function) * 16 +
                                   static_cast<std::uint64_t>(e->combine));
  h = mix(h, e->bits);
  if (e->is(ExprKind::infinity)) h = mix(h, e->number.is_negative() ? 1 : 0);
  if (e->is(ExprKind::scan)) h = mix(h, static_cast<std::uint64_t>(integer(e->operands[1], p)));
  if (e->is(ExprKind::reduce) || e->is(ExprKind::scan)) {
    for (const Point& inner : points(e->bound, loop_)) {
      Point all = p;
      for (const auto& [axis, position] : inner) all[axis] = position;
      for (Expr x : e->operands) h = mix(h, x->element == ir::Element::boolean ? std::uint64_t{holds(x, all)} : value(x, all, m));
    }
  } else {
    std::vector<std::uint64_t> values;
    for (Expr x : e->operands) values.push_back(x->element == ir::Element::boolean ? std::uint64_t{holds(x, p)} : value(x, p, m));
    // Their operands are sorted by names, which two equivalent formulas need not have in common.
    if (e->is(ExprKind::function) && (e->function == OpKind::maximum_ || e->function == OpKind::eq_))
      std::sort(values.begin(), values.end());
    for (std::uint64_t v : values) h = mix(h, v);
  }
  return residue(h, m);
}

bool FieldEvaluator::holds(Expr c, const Point& p) {
  return known_or(known_conditions_, c, p, [&] { return compute_condition(c, p); });
}

bool FieldEvaluator::compute_condition(Expr c, const Point& p) {
  switch (c->kind) {
    case ExprKind::at_least_zero: return integer(c->operands[0], p) >= 0;
    case ExprKind::equal: return integer(c->operands[0], p) == integer(c->operands[1], p);
    case ExprKind::conjunction: return std::all_of(c->operands.begin(), c->operands.end(), [&](Expr x) { return holds(x, p); });
    case ExprKind::negation: return !holds(c->operands[0], p);
    case ExprKind::load: return value(c, p, Modulus::values()) % 2 == 0;
    default: return hashed(c, p, Modulus::values()) % 2 == 0;
  }
}

std::int64_t FieldEvaluator::integer(Expr e, const Point& p) {
  switch (e->kind) {
    case ExprKind::number: return whole(e->number);
    case ExprKind::index: return p.at(e->axis);
    case ExprKind::extent: return extent(e->extent);
    case ExprKind::add:
    case ExprKind::mul:
    case ExprKind::select: return known_or(known_integers_, e, p, [&] { return compute_integer(e, p); });
    default: return static_cast<std::int64_t>(value(e, p, Modulus::values()) % 1024);
  }
}

std::int64_t FieldEvaluator::compute_integer(Expr e, const Point& p) {
  if (e->is(ExprKind::select)) return integer(holds(e->operands[0], p) ? e->operands[1] : e->operands[2], p);
  if (e->is(ExprKind::add)) {
    std::int64_t sum = 0;
    for (const Term& t : e->terms) sum += whole(t.coefficient) * integer(t.value, p);
    return sum;
  }
  std::int64_t product = whole(e->number);
  for (const Factor& f : e->factors)
    for (std::int64_t i = whole_power(f); i > 0; --i) product *= integer(f.base, p);
  return product;
}

}  // namespace tilewright::passes::fusion
