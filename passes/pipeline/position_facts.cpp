// Derives ranges and signs from ranges of values, and from the ops that compute them.
#include "passes/pipeline/position_facts.h"

#include <algorithm>
#include <climits>

#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

constexpr std::int64_t kMostDivisor = 128;  // bytes of a slab

}  // namespace

PositionFacts::Interval PositionFacts::interval(const Atom& a) const {
  const ValueId v = a.value();
  const ir::ValueData& d = f_.value(v);
  Range r = info_.knows(v) ? info_.range(v) : full_range(f_.type(v));
  if (!d.op && d.block == f_.body() && f_.params[d.number].positive) {
    r.lo = std::max<Wide>(r.lo, 1);
    r.hi = std::min<Wide>(r.hi, INT32_MAX);
  }
  // A cast keeps a value that the type has.
  if (const OpId cast = f_.defined_by(v, OpKind::cast_); cast && f_.type(v).is_scalar() && f_.type(f_.operand(cast, 0)).is_integer()) {
    const Interval from = interval(Atom::value(f_.operand(cast, 0)));
    if (const Range all = full_range(f_.type(v)); all.lo <= from.lo && from.hi <= all.hi)
      r.lo = std::max(r.lo, from.lo), r.hi = std::min(r.hi, from.hi);
  }
  return {r.lo, r.hi};
}

PositionFacts::Interval PositionFacts::interval(const Polynomial& p) const {
  constexpr Wide kMost = Wide{1} << 100;
  Interval sum;
  for (const auto& [m, factor] : p.terms()) {
    Interval product{factor, factor};
    for (const Atom& a : m) {
      const Interval x = interval(a);
      if (product.lo < -kMost / INT32_MAX || product.hi > kMost / INT32_MAX) return {-kMost, kMost};
      const Wide ends[] = {product.lo * x.lo, product.lo * x.hi, product.hi * x.lo, product.hi * x.hi};
      product = {*std::ranges::min_element(ends), *std::ranges::max_element(ends)};
    }
    sum.lo += product.lo, sum.hi += product.hi;
  }
  return sum;
}

bool PositionFacts::is_not_negative(const Polynomial& p) const {
  if (interval(p).lo >= 0) return true;
  const std::size_t before = taken_as_positive_.size();
  const bool holds = std::ranges::all_of(p.terms(), [&](const auto& term) {
    return term.second > 0 && std::ranges::all_of(term.first, [&](const Atom& a) { return is_not_negative(a.value()); });
  });
  if (!holds) taken_as_positive_.resize(before);
  return holds;
}

bool PositionFacts::is_not_negative(ValueId v) const {
  const std::size_t before = taken_as_positive_.size();
  const bool holds = derive_not_negative(v);
  if (!holds) taken_as_positive_.resize(before);
  return holds;
}

bool PositionFacts::derive_not_negative(ValueId v) const {
  if (interval(Atom::value(v)).lo >= 0) return true;
  const OpId id = f_.value(v).op;
  if (!id) return loop_ && v == f_.arg(f_.region(loop_), 0) && is_not_negative(f_.operand(loop_, 0));
  const auto& operands = f_.op(id).operands;
  const ir::Type to = f_.type(v);
  switch (f_.kind(id)) {
    case OpKind::cast_: {
      const ir::Type from = f_.type(operands[0]);
      if (!from.is_integer()) return false;
      const bool keeps_value = ir::is_signed(from.element()) ? ir::bits(from.element()) <= ir::bits(to.element())
                                                             : ir::bits(from.element()) < ir::bits(to.element());
      return keeps_value && is_not_negative(operands[0]);
    }
    case OpKind::div_:
      if (!is_not_negative(operands[0])) return false;
      take_as_positive(operands[1]);
      return true;
    case OpKind::rem_:
    case OpKind::shr_: return is_not_negative(operands[0]);
    case OpKind::maximum_: return is_not_negative(operands[0]) || is_not_negative(operands[1]);
    case OpKind::add_:
    case OpKind::mul_:
      // Index arithmetic does not wrap from 32 bits on.
      if (ir::bits(to.element()) < 32) return false;
      [[fallthrough]];
    case OpKind::minimum_: return is_not_negative(operands[0]) && is_not_negative(operands[1]);
    default: return false;
  }
}

void PositionFacts::take_as_positive(ValueId v) const {
  const bool is_known = interval(Atom::value(v)).lo >= 1 || std::ranges::count(taken_as_positive_, v) > 0;
  if (!is_known) taken_as_positive_.push_back(v);
}

std::int64_t PositionFacts::divisor(const Polynomial& p) const {
  std::int64_t common = 0;
  for (const auto& [m, factor] : p.terms()) {
    std::int64_t d = factor & -factor;
    for (const Atom& a : m) d = std::min(d * std::min(divisor(a), kMostDivisor), kMostDivisor);
    common = common == 0 ? d : std::min(common, d);
  }
  return common;
}

std::int64_t PositionFacts::divisor(const Atom& a) const { return info_.knows(a.value()) ? info_(a.value()).scalar_divisibility : 1; }

}  // namespace tilewright::passes
