// Recognises masks of consecutive numbers and compares the ends of their ranges.
#include "passes/masks/all_true_mask.h"

#include "tileir/op_kind.h"
#include "tileir/splat.h"

namespace tilewright::passes {

namespace {

bool moves(OpKind k) { return k == OpKind::broadcast_ || k == OpKind::reshape_ || k == OpKind::permute_; }

}  // namespace

ValueId AllTrueMask::scalar(ValueId mask) {
  if (f_.type(mask).is_scalar()) return mask;
  const OpId id = f_.value(mask).op;
  switch (f_.kind(id)) {
    case OpKind::constant_: return rw_.constant(Type(ir::Element::boolean), 1);
    case OpKind::bit_and_: return both(scalar(f_.operand(id, 0)), scalar(f_.operand(id, 1)));
    case OpKind::broadcast_:
    case OpKind::reshape_:
    case OpKind::permute_: return scalar(f_.operand(id, 0));
    default: return below(id);
  }
}

ValueId AllTrueMask::both(ValueId a, ValueId b) { return !a || a == b ? b : !b ? a : rw_.binary(OpKind::bit_and_, a, b); }

bool AllTrueMask::is_bounded(ValueId mask, int depth) const {
  if (f_.type(mask).is_scalar()) return true;
  const OpId id = f_.value(mask).op;
  if (!id || depth == 0) return false;
  const OpKind k = f_.kind(id);
  if (k == OpKind::constant_) return f_.constant_bits(mask) != 0u;
  if (k == OpKind::bit_and_) return is_bounded(f_.operand(id, 0), depth - 1) && is_bounded(f_.operand(id, 1), depth - 1);
  if (moves(k)) return is_bounded(f_.operand(id, 0), depth - 1);
  const auto c = comparison(id);
  return c && run_of(c->low) && run_of(c->high);
}

std::optional<AllTrueMask::Comparison> AllTrueMask::comparison(OpId id) const {
  if (f_.op(id).operands.size() != 2 || !f_.type(f_.operand(id, 0)).is_integer()) return std::nullopt;
  const ValueId a = f_.operand(id, 0), b = f_.operand(id, 1);
  switch (f_.kind(id)) {
    case OpKind::lt_: return Comparison{a, b, false};
    case OpKind::le_: return Comparison{a, b, true};
    case OpKind::gt_: return Comparison{b, a, false};
    case OpKind::ge_: return Comparison{b, a, true};
    default: return std::nullopt;
  }
}

std::optional<AllTrueMask::Run> AllTrueMask::run_of(ValueId v) const {
  if (is_splat(f_, v)) return Run{v, 0, 1, f_.type(v).element()};
  const OpId id = f_.value(v).op;
  if (!id) return std::nullopt;
  if (moves(f_.kind(id))) return f_.type(f_.operand(id, 0)).is_scalar() ? std::nullopt : run_of(f_.operand(id, 0));
  if (f_.kind(id) == OpKind::arange_) {
    const std::int64_t lo = f_.attr(id, ir::AttrName::lo);
    return Run{{}, lo, f_.attr(id, ir::AttrName::hi) - lo};
  }
  if (f_.kind(id) == OpKind::cast_) {
    const ir::Element from = f_.type(f_.operand(id, 0)).element(), to = f_.type(v).element();
    std::optional<Run> run = run_of(f_.operand(id, 0));
    if (!run || run->counted != from || !ir::is_integer(to) || ir::bits(to) < ir::bits(from)) return std::nullopt;
    if (!run->base && run->first < 0 && !ir::is_signed(to)) return std::nullopt;  // the first number wraps
    if (!run->base) run->counted = to;
    return run;
  }
  if (f_.kind(id) != OpKind::add_) return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    const ValueId offset = f_.operand(id, i);
    if (!is_splat(f_, offset)) continue;
    std::optional<Run> run = run_of(f_.operand(id, 1 - i));
    if (!run || run->base || run->counted != f_.type(v).element()) return std::nullopt;
    run->base = offset;
    return run;
  }
  return std::nullopt;
}

ValueId AllTrueMask::first_of(const Run& run, ir::Element as, bool may_wrap, ValueId& holds) {
  const Type counted(run.counted);
  if (!run.base) return rw_.constant(Type(as), run.first);
  ValueId first = splat_scalar(rw_, run.base, run.counted);
  if (run.first != 0) first = rw_.binary(OpKind::add_, first, rw_.constant(counted, run.first));
  if (run.count > 1 && !may_wrap) {
    const auto most = static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - ir::bits(run.counted) + ir::is_signed(run.counted)));
    holds = both(holds, rw_.binary(OpKind::le_, first, rw_.constant(counted, most - (run.count - 1))));
  }
  return rw_.cast(first, as);
}

// The last low number is below the first high number: first < bound and bound - first > count - 1 as unsigned numbers. Then no low number
// wraps either.
ValueId AllTrueMask::below(OpId id) {
  const Comparison c = *comparison(id);
  const Run low = *run_of(c.low), high = *run_of(c.high);
  const ir::Element e = f_.type(c.low).element(), without_sign = ir::bits(e) == 64 ? ir::Element::u64 : ir::Element::u32;
  const OpKind order = c.or_equal ? OpKind::le_ : OpKind::lt_;
  ValueId holds;
  const ValueId bound = first_of(high, e, false, holds);
  if (!low.base) return both(holds, rw_.binary(order, rw_.constant(Type(e), low.first + low.count - 1), bound));
  const ValueId first = first_of(low, e, low.counted == e, holds);
  if (low.count == 1) return both(holds, rw_.binary(order, first, bound));
  const ValueId distance = rw_.cast(rw_.binary(OpKind::sub_, bound, first), without_sign);
  const ValueId last = rw_.binary(order, rw_.constant(Type(without_sign), low.count - 1), distance);
  return both(holds, both(rw_.binary(order, first, bound), last));
}

}  // namespace tilewright::passes
