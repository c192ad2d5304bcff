// Proves that comparisons hold in every iteration of a loop except the last one.
//
// Let counter be the loop counter of an iteration that is followed by another one; it goes from a constant lo >= 0 by steps of s to hi:
//   counter + s <= hi - 1                                (1)
// For a comparison a * counter + b < h, with b <= b_max:
//   hi = h:             counter + s < h                  by (1); true if a <= 1 and b_max <= s
//   hi = ceil(h / d):   d * (hi - 1) < h, so
//                       d * counter + d * s < h          by (1); true if a <= d and b_max <= d * s
// No part of the comparison wraps: the parts of the low side are not negative (low_side checks it), and their sum is less than h.
#include "passes/pipeline/last_iteration.h"

#include <algorithm>

#include "tileir/builder.h"
#include "tileir/op_kind.h"
#include "tileir/splat.h"

namespace tilewright::passes {

namespace {

constexpr std::int64_t kMostOffset = std::int64_t{1} << 31;

/// a * counter + [0, most].
struct LowSide {
  std::int64_t a = 0, most = 0;
};

class LastIterationProof {
 public:
  LastIterationProof(const Function& f, OpId loop) : f_(f), loop_(loop) {}

  bool holds(ValueId mask) const {
    mask = moved(mask);
    const OpId id = f_.value(mask).op;
    const auto step = constant(f_.operand(loop_, 2)), lo = constant(f_.operand(loop_, 0));
    if (!id || !step || *step <= 0 || !lo || *lo < 0) return false;
    // 0 <= x: checks of views have this form.
    if (f_.kind(id) == OpKind::ge_) return is_not_positive(f_.operand(id, 1)) && low_side(f_.operand(id, 0));
    if (f_.kind(id) == OpKind::le_) return is_not_positive(f_.operand(id, 0)) && low_side(f_.operand(id, 1));
    if (f_.kind(id) == OpKind::lt_) return is_below(f_.operand(id, 0), f_.operand(id, 1), *step);
    return f_.kind(id) == OpKind::gt_ && is_below(f_.operand(id, 1), f_.operand(id, 0), *step);
  }

 private:
  std::optional<std::int64_t> constant(ValueId v) const { return ir::constant_integer(f_, v); }

  bool is_not_positive(ValueId v) const {
    const auto c = constant(moved(v));
    return c && *c <= 0;
  }

  bool is_below(ValueId low, ValueId high, std::int64_t step) const {
    if (!f_.type(low).is_integer()) return false;
    std::optional<LowSide> sum = low_side(low);
    // low < h - x  <=>  low + x < h
    high = moved(high);
    while (const OpId sub = f_.defined_by(high, OpKind::sub_)) {
      sum = added(sum, low_side(f_.operand(sub, 1)));
      high = moved(f_.operand(sub, 0));
    }
    if (!sum) return false;
    const std::optional<std::int64_t> d = tile_extent(high);
    return d && sum->a <= *d && sum->most <= *d * step;
  }

  static std::optional<LowSide> added(const std::optional<LowSide>& x, const std::optional<LowSide>& y) {
    if (!x || !y || x->most + y->most > kMostOffset) return std::nullopt;
    return LowSide{x->a + y->a, x->most + y->most};
  }

  /// v as a sum of nonnegative parts.
  std::optional<LowSide> low_side(ValueId v) const {
    if (const auto leaf = leaf_of(moved(v))) return leaf;
    // A sum in a narrower type could wrap before it is cast.
    v = moved(v, false);
    const OpId id = f_.value(v).op;
    if (!id) return carried(v);
    switch (f_.kind(id)) {
      case OpKind::add_: return added(low_side(f_.operand(id, 0)), low_side(f_.operand(id, 1)));
      case OpKind::mul_: {
        for (int i : {0, 1}) {
          const auto factor = constant(moved(f_.operand(id, i)));
          const auto x = factor && *factor >= 0 && *factor <= kMostOffset ? low_side(f_.operand(id, 1 - i)) : std::nullopt;
          if (x && x->a * *factor <= kMostOffset && x->most <= kMostOffset / std::max<std::int64_t>(*factor, 1))
            return LowSide{x->a * *factor, x->most * *factor};
        }
        return std::nullopt;
      }
      default: return std::nullopt;
    }
  }

  /// A leaf of such a sum: the counter, a constant, or an arange.
  std::optional<LowSide> leaf_of(ValueId v) const {
    if (v == f_.arg(f_.region(loop_), 0)) return LowSide{1, 0};
    if (const auto c = constant(v)) return *c < 0 || *c > kMostOffset ? std::nullopt : std::optional(LowSide{0, *c});
    const OpId arange = f_.defined_by(v, OpKind::arange_);
    if (!arange || f_.attr(arange, AttrName::lo) < 0) return std::nullopt;
    return LowSide{0, f_.attr(arange, AttrName::hi) - 1};
  }

  /// A carried value that advances together with the counter: init + (counter - lo) / s * step.
  std::optional<LowSide> carried(ValueId v) const {
    const ir::ValueData& d = f_.value(v);
    if (d.block != f_.region(loop_)) return std::nullopt;
    const auto induction = induction_of(f_, loop_, static_cast<int>(d.number) - 1);
    if (!induction) return std::nullopt;
    const auto init = constant(induction->init), step = constant(induction->step);
    const std::int64_t s = *constant(f_.operand(loop_, 2)), lo = *constant(f_.operand(loop_, 0));
    if (!init || !step || *init < 0 || *step < 0 || *init > kMostOffset || *step > kMostOffset || *step % s != 0) return std::nullopt;
    const std::int64_t a = *step / s;
    // With lo > 0 the value is less than a * counter + init.
    return lo > kMostOffset ? std::nullopt : std::optional(LowSide{a, *init});
  }

  /// The d for which the loop's upper bound is h rounded up to tiles, ceil(h / d); none if the bound has another form.
  std::optional<std::int64_t> tile_extent(ValueId h) const {
    const ValueId hi = moved(f_.operand(loop_, 1));
    if (hi == h) return 1;
    const auto constant_h = constant(h), constant_hi = constant(hi);
    if (constant_h && constant_hi && *constant_hi <= *constant_h) return 1;
    const OpId id = f_.value(hi).op;
    if (!id) return std::nullopt;
    // (h + d - 1) / d
    if (f_.kind(id) == OpKind::div_) {
      const auto d = constant(f_.operand(id, 1));
      const OpId sum = f_.defined_by(f_.operand(id, 0), OpKind::add_);
      if (!d || *d <= 0 || *d > kMostOffset || !sum || f_.operand(sum, 0) != h) return std::nullopt;
      return constant(f_.operand(sum, 1)) == *d - 1 ? d : std::nullopt;
    }
    // h / d + (h % d != 0)
    if (f_.kind(id) != OpKind::add_) return std::nullopt;
    for (int i : {0, 1}) {
      const OpId quotient = f_.defined_by(f_.operand(id, i), OpKind::div_), up = f_.defined_by(f_.operand(id, 1 - i), OpKind::cast_);
      if (!quotient || !up || f_.operand(quotient, 0) != h) continue;
      const auto d = constant(f_.operand(quotient, 1));
      if (d && *d > 0 && *d <= kMostOffset && implies_rest(f_.operand(up, 0), h, f_.operand(quotient, 1))) return d;
    }
    return std::nullopt;
  }

  /// Whether a condition can only be true if h % d != 0.
  bool implies_rest(ValueId condition, ValueId h, ValueId d) const {
    if (const OpId both = f_.defined_by(condition, OpKind::bit_and_))
      return implies_rest(f_.operand(both, 0), h, d) || implies_rest(f_.operand(both, 1), h, d);
    const OpId compared = f_.defined_by(condition, OpKind::ne_);
    const OpId rest = compared ? f_.defined_by(f_.operand(compared, 0), OpKind::rem_) : OpId{};
    return rest && f_.operand(rest, 0) == h && f_.constant_bits(f_.operand(rest, 1)) == f_.constant_bits(d) &&
           f_.constant_bits(f_.operand(compared, 1)) == std::uint64_t{0};
  }

  /// The value whose elements this value has, before ops that move elements and casts to wider integers, which preserve the value.
  ValueId moved(ValueId v, bool through_casts = true) const {
    for (;;) {
      const OpId id = f_.value(v).op;
      if (!id) return v;
      const OpKind k = f_.kind(id);
      if (k == OpKind::cast_ && through_casts) {
        const ir::Element from = f_.type(f_.operand(id, 0)).element(), to = f_.type(v).element();
        const bool keeps = f_.type(f_.operand(id, 0)).is_integer() && f_.type(v).is_integer() && ir::is_signed(from) && ir::is_signed(to) &&
                           ir::bits(to) >= ir::bits(from);
        if (!keeps) return v;
      } else if (k != OpKind::broadcast_ && k != OpKind::reshape_ && k != OpKind::permute_ && k != OpKind::convert_layout_) {
        return v;
      }
      v = f_.operand(id, 0);
    }
  }

  const Function& f_;
  const OpId loop_;
};

}  // namespace

std::optional<Induction> induction_of(const Function& f, OpId loop, int k) {
  if (k < 0) return std::nullopt;
  const BlockId body = f.region(loop);
  const ValueId arg = f.arg(body, k + 1), next = f.operand(f.terminator(body), k);
  const OpId add = f.defined_by(next, OpKind::add_);
  if (!f.type(arg).is_scalar() || !f.type(arg).is_integer() || !add) return std::nullopt;
  for (int i : {0, 1}) {
    const ValueId step = f.operand(add, 1 - i);
    if (f.operand(add, i) == arg && (!f.encloses(body, f.defining_block(step)) || f.constant_bits(step)))
      return Induction{f.operand(loop, k + 3), step};
  }
  return std::nullopt;
}

bool holds_before_last(const Function& f, OpId loop, ValueId mask) { return LastIterationProof(f, loop).holds(mask); }

}  // namespace tilewright::passes
