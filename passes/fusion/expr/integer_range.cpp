// Interval arithmetic for integer expressions.
#include "passes/fusion/expr/integer_range.h"

#include <algorithm>

#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

namespace {

using ir::Int128;

std::int64_t saturate(Int128 v) { return static_cast<std::int64_t>(std::clamp<Int128>(v, INT64_MIN, INT64_MAX)); }

Range of_type(ir::Element e) {
  if (e == ir::Element::boolean) return {0, 1};
  if (!ir::is_integer(e) || e == ir::Element::i64 || e == ir::Element::u64) return Range::everything();
  const int width = ir::bits(e);
  if (ir::is_unsigned(e)) return {0, (std::int64_t{1} << width) - 1};
  return {-(std::int64_t{1} << (width - 1)), (std::int64_t{1} << (width - 1)) - 1};
}

// A limit represents all values beyond it, whatever is added to it.
Range add(const Range& a, const Range& b) {
  const bool has_least = a.least != INT64_MIN && b.least != INT64_MIN, has_greatest = a.greatest != INT64_MAX && b.greatest != INT64_MAX;
  return {has_least ? saturate(Int128{a.least} + b.least) : INT64_MIN,
          has_greatest ? saturate(Int128{a.greatest} + b.greatest) : INT64_MAX};
}

Range multiply(const Range& a, const Range& b) {
  const auto wide = [](std::int64_t v) { return Int128{v} + (v == INT64_MAX ? 1 : 0); };  // -limit is a limit
  const Int128 corners[] = {wide(a.least) * wide(b.least), wide(a.least) * wide(b.greatest), wide(a.greatest) * wide(b.least),
                            wide(a.greatest) * wide(b.greatest)};
  return {saturate(*std::min_element(std::begin(corners), std::end(corners))),
          saturate(*std::max_element(std::begin(corners), std::end(corners)))};
}

// The ranges of an expression and its parts; each part is computed once, however often it is used.
class RangeFinder {
 public:
  explicit RangeFinder(const AxisRanges& box) : box_(box) {}
  Range of(Expr);

 private:
  struct Hash {
    std::size_t operator()(Expr e) const { return e->key.low; }
  };
  Range compute(Expr);
  std::optional<Range> of_function(Expr);
  Range of_choice(Expr value, Expr condition, bool is_met);

  const AxisRanges& box_;
  std::unordered_map<Expr, Range, Hash> known_;
};

Range RangeFinder::of(Expr e) {
  if (e->operands.empty() && e->terms.empty() && e->factors.empty()) return compute(e);
  if (const auto known = known_.find(e); known != known_.end()) return known->second;
  const Range range = compute(e);
  known_.emplace(e, range);
  return range;
}

// The range of a quotient or a remainder by a positive integer, which round toward zero, and of bits under a mask.
std::optional<Range> RangeFinder::of_function(Expr e) {
  if (e->function == ir::OpKind::cast_ && ir::is_integer(e->operands[0]->element)) {
    const Range r = of(e->operands[0]);
    return fits(r, e->element) ? std::optional(r) : std::nullopt;
  }
  if (e->function == ir::OpKind::bit_and_) {
    std::optional<Range> bits;
    for (Expr x : e->operands)
      if (const Range r = of(x); r.least >= 0 && (!bits || r.greatest < bits->greatest)) bits = Range{0, r.greatest};
    return bits;
  }
  if (e->function != ir::OpKind::div_ && e->function != ir::OpKind::rem_) return std::nullopt;
  const Range a = of(e->operands[0]), b = of(e->operands[1]);
  if (b.least < 1) return std::nullopt;
  // A negative range of an unsigned 64-bit type wraps to more than an interval holds.
  if (e->element == ir::Element::u64 && a.least < 0) {
    if (e->function == ir::OpKind::rem_) return Range{0, b.greatest - 1};
    return Range{0, static_cast<std::int64_t>(std::min<std::uint64_t>(UINT64_MAX / static_cast<std::uint64_t>(b.least), INT64_MAX))};
  }
  if (e->function == ir::OpKind::div_)
    return Range{a.least / (a.least < 0 ? b.least : b.greatest), a.greatest / (a.greatest < 0 ? b.greatest : b.least)};
  return Range{std::max(std::min<std::int64_t>(a.least, 0), 1 - b.greatest),
               std::min(std::max<std::int64_t>(a.greatest, 0), b.greatest - 1)};
}

// The values of an integer select's operand, which is chosen if the condition is met (or is not met): x + (value - x) for a condition
// x >= 0, with x on its side of 0.
Range RangeFinder::of_choice(Expr value, Expr condition, bool is_met) {
  const Range all = of(value);
  if (!condition->is(ExprKind::at_least_zero) || !ir::is_integer(value->element)) return all;
  const Expr x = condition->operands[0];
  std::unordered_map<Expr, Int128, Hash> difference;  // coefficients by term
  bool is_exact = true;
  const auto add_terms = [&](Expr e, int sign) {
    const std::vector<Term> single{{1, e}};
    for (const Term& t : e->is(ExprKind::add) ? e->terms : single) {
      is_exact = is_exact && t.coefficient.is_integer() && saturate(t.coefficient.numerator()) == t.coefficient.numerator();
      if (is_exact) difference[t.value] += sign * t.coefficient.numerator();
    }
  };
  add_terms(value, 1);
  add_terms(x, -1);
  if (!is_exact) return all;
  Range sum = of(x);
  sum = is_met ? Range{std::max<std::int64_t>(sum.least, 0), sum.greatest} : Range{sum.least, std::min<std::int64_t>(sum.greatest, -1)};
  for (const auto& [term, coefficient] : difference) {
    const std::int64_t c = saturate(coefficient);
    if (c != 0) sum = add(sum, multiply({c, c}, of(term)));
  }
  return {std::max(all.least, sum.least), std::min(all.greatest, sum.greatest)};
}

std::int64_t bounded(std::int64_t extent) { return extent == INT64_MAX ? kMostUnboundedExtent : extent; }

Range RangeFinder::compute(Expr e) {
  switch (e->kind) {
    case ExprKind::number: {
      const std::int64_t value = saturate(e->number.numerator());
      return e->number.is_integer() && value == e->number.numerator() ? Range{value, value} : Range::everything();
    }
    case ExprKind::extent: return {e->extent.least(), bounded(e->extent.greatest())};
    case ExprKind::index: {
      const auto at = box_.find(e->axis);
      if (at != box_.end()) return at->second;
      return {0, std::max<std::int64_t>(bounded(e->axis->extent.greatest()) - 1, 0)};
    }
    case ExprKind::add: {
      Range sum{0, 0};
      for (const Term& t : e->terms) {
        if (!t.coefficient.is_integer()) return Range::everything();
        const std::int64_t c = saturate(t.coefficient.numerator());
        sum = add(sum, multiply({c, c}, of(t.value)));
      }
      return sum;
    }
    case ExprKind::mul: {
      if (!e->number.is_integer()) return Range::everything();
      const std::int64_t c = saturate(e->number.numerator());
      Range product{c, c};
      for (const Factor& f : e->factors) {
        if (!f.exponent.is_integer() || f.exponent.is_negative() || f.exponent > Rational(kMostBoundedPower)) return Range::everything();
        for (Rational i = 0; i < f.exponent; i += 1) product = multiply(product, of(f.base));
      }
      return product;
    }
    case ExprKind::select: {
      const Range a = of_choice(e->operands[1], e->operands[0], true), b = of_choice(e->operands[2], e->operands[0], false);
      return {std::min(a.least, b.least), std::max(a.greatest, b.greatest)};
    }
    case ExprKind::function: return of_function(e).value_or(of_type(e->element));
    default: return of_type(e->element);
  }
}

}  // namespace

Range integer_range(Expr e, const AxisRanges& box) { return RangeFinder(box).of(e); }

bool fits(const Range& r, ir::Element e) {
  Range type = of_type(e);
  if (e == ir::Element::u64) type.least = 0;
  // The limits of 64 bits also represent all values beyond them.
  return r.least >= type.least && r.greatest <= type.greatest && r.least != INT64_MIN && r.greatest != INT64_MAX;
}

bool stays_inside(Expr position, const Dim& extent) {
  if (position->is(ExprKind::index) && position->axis->extent == extent) return true;
  const Range r = integer_range(position);
  return r.least >= 0 && r.greatest < extent.least();
}

std::optional<bool> holds(Expr condition, const AxisRanges& box) {
  switch (condition->kind) {
    case ExprKind::at_least_zero: {
      const Range r = integer_range(condition->operands[0], box);
      if (r.least >= 0) return true;
      if (r.greatest < 0) return false;
      return std::nullopt;
    }
    case ExprKind::equal: {
      const Range a = integer_range(condition->operands[0], box), b = integer_range(condition->operands[1], box);
      if (a.greatest < b.least || b.greatest < a.least) return false;
      if (a.least == a.greatest && b.least == b.greatest && a.least == b.least) return true;
      return std::nullopt;
    }
    case ExprKind::negation: {
      const std::optional<bool> inner = holds(condition->operands[0], box);
      return inner ? std::optional(!*inner) : std::nullopt;
    }
    case ExprKind::conjunction: {
      bool all = true;
      for (Expr c : condition->operands) {
        const std::optional<bool> one = holds(c, box);
        if (one == false) return false;
        all &= one == true;
      }
      return all ? std::optional(true) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

}  // namespace tilewright::passes::fusion
