// Interval arithmetic whose ends are ops.
#include "passes/pipeline/launch_bounds.h"

#include <vector>

#include "tileir/launch_values.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

std::optional<ValueId> LaunchBounds::least(ValueId v) {
  const auto both = bounds(v);
  return both ? std::optional(both->least) : std::nullopt;
}

ValueId LaunchBounds::binary(OpKind k, ValueId a, ValueId b) { return rw_ ? rw_->binary(k, a, b) : a; }

ValueId LaunchBounds::constant(std::int64_t n) { return rw_ ? rw_->constant(ir::Type(ir::Element::i64), n) : ValueId{0}; }

std::optional<LaunchBounds::Both> LaunchBounds::bounds(ValueId v) {
  if (const auto at = known_.find(v); at != known_.end()) return at->second;
  const OpId id = f_.value(v).op;
  std::optional<Both> both;
  if ((!id || f_.op(id).parent == f_.body()) && ir::why_not_at_launch(f_, v).empty()) {
    const ValueId wide = rw_ ? rw_->cast(v, ir::Element::i64) : v;
    both = Both{wide, wide};
  } else if (id) {
    both = bounds_of(id);
  }
  known_[v] = both;
  return both;
}

std::optional<LaunchBounds::Both> LaunchBounds::bounds_of(OpId id) {
  const auto& operands = f_.op(id).operands;
  const OpKind k = f_.kind(id);
  if (k == OpKind::program_id_) {
    if (!rw_) return Both{f_.result(id), f_.result(id)};
    const ir::Type i32(ir::Element::i32);
    const ValueId programs = f_.result(
        rw_->create(OpKind::num_programs_, {}, {{ir::AttrName::axis, f_.attr(id, ir::AttrName::axis), {}, {}}}, std::span(&i32, 1)));
    return Both{constant(0), binary(OpKind::sub_, rw_->cast(programs, ir::Element::i64), constant(1))};
  }
  const ir::Type to = f_.type(f_.result(id));
  if (!to.is_scalar() || !to.is_integer() || ir::bits(to.element()) < 32) return std::nullopt;
  if (k == OpKind::cast_) {
    const ir::Type from = f_.type(operands[0]);
    const bool is_wider = from.is_integer() && ir::is_signed(from.element()) && ir::bits(from.element()) <= ir::bits(to.element());
    return is_wider ? bounds(operands[0]) : std::nullopt;
  }
  if (k == OpKind::div_ || k == OpKind::rem_) return quotient(id);
  if (operands.size() != 2) return std::nullopt;
  const auto a = bounds(operands[0]), b = bounds(operands[1]);
  if (!a || !b) return std::nullopt;
  switch (k) {
    case OpKind::add_:
    case OpKind::minimum_:
    case OpKind::maximum_: return Both{binary(k, a->least, b->least), binary(k, a->greatest, b->greatest)};
    case OpKind::sub_: return Both{binary(k, a->least, b->greatest), binary(k, a->greatest, b->least)};
    case OpKind::mul_: return product(*a, *b);
    default: return std::nullopt;
  }
}

/// Of a number that is not negative by one that is positive.
std::optional<LaunchBounds::Both> LaunchBounds::quotient(OpId id) {
  const ValueId x = f_.operand(id, 0), by = f_.operand(id, 1);
  if (facts_ && !facts_->is_not_negative(x)) return std::nullopt;
  const auto a = bounds(x), b = bounds(by);
  if (!a || !b) return std::nullopt;
  if (facts_) facts_->take_as_positive(by);
  const ValueId least_by = binary(OpKind::maximum_, b->least, constant(1)), most_by = binary(OpKind::maximum_, b->greatest, constant(1));
  if (f_.kind(id) == OpKind::div_) return Both{binary(OpKind::div_, a->least, most_by), binary(OpKind::div_, a->greatest, least_by)};
  return Both{constant(0), binary(OpKind::minimum_, a->greatest, binary(OpKind::sub_, most_by, constant(1)))};
}

LaunchBounds::Both LaunchBounds::product(const Both& a, const Both& b) {
  const auto ends_of = [](const Both& x) { return x.least == x.greatest ? std::vector{x.least} : std::vector{x.least, x.greatest}; };
  std::vector<ValueId> ends;
  for (ValueId x : ends_of(a))
    for (ValueId y : ends_of(b)) ends.push_back(binary(OpKind::mul_, x, y));
  Both both{ends[0], ends[0]};
  for (std::size_t i = 1; i < ends.size(); ++i)
    both = {binary(OpKind::minimum_, both.least, ends[i]), binary(OpKind::maximum_, both.greatest, ends[i])};
  return both;
}

}  // namespace tilewright::passes
