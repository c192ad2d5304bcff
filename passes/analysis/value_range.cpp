// Interval arithmetic op by op; the result of any other op has the full range of its type.
#include "passes/analysis/value_range.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

constexpr Wide kOne = 1;
constexpr std::int64_t kMaxI32 = std::numeric_limits<std::int32_t>::max();

Range product(Type t, const Range& a, const Range& b) {
  Range r;
  bool first = true;
  for (Wide x : {a.lo, a.hi})
    for (Wide y : {b.lo, b.hi}) {
      Wide p;
      if (__builtin_mul_overflow(x, y, &p)) return full_range(t);
      r = first ? Range{p, p} : Range{std::min(r.lo, p), std::max(r.hi, p)};
      first = false;
    }
  return clipped(t, r);
}

Range quotient(Type t, const Range& a, const Range& b) {
  if (b.lo <= 0) return full_range(t);
  const auto [lo, hi] = std::minmax({a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi});
  return {lo, hi};
}

Range remainder(Type t, const Range& a, const Range& b) {
  if (b.lo <= 0) return a.lo >= 0 ? Range{0, a.hi} : full_range(t);  // x % 0 = x, and |x % y| <= |x|
  return {a.lo >= 0 ? Wide{0} : std::max(a.lo, -(b.hi - 1)), a.hi <= 0 ? Wide{0} : std::min(a.hi, b.hi - 1)};
}

/// The least 2^k - 1 that is greater than or equal to a nonnegative x.
Wide all_ones_above(Wide x) {
  Wide m = 0;
  while (m < x) m = m * 2 + 1;
  return m;
}

Range bits(OpKind k, Type t, const Range& a, const Range& b) {
  if (k == OpKind::bit_and_) {
    if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
    if (a.lo >= 0) return {0, a.hi};
    return b.lo >= 0 ? Range{0, b.hi} : full_range(t);
  }
  if (a.lo < 0 || b.lo < 0) return full_range(t);
  return {0, all_ones_above(std::max(a.hi, b.hi))};
}

Range shifted(OpKind k, Type t, const Range& a, const Range& b) {
  const int width = ir::bits(t.element());
  if (b.lo == b.hi && b.lo >= 0 && b.lo < width) {
    const Wide power = kOne << static_cast<int>(b.lo);
    if (k == OpKind::shl_) return product(t, a, {power, power});
    return {a.lo >> static_cast<int>(b.lo), a.hi >> static_cast<int>(b.lo)};
  }
  if (k == OpKind::shr_) return {std::min(a.lo, Wide{0}), std::max(a.hi, Wide{0})};
  return full_range(t);
}

Range magnitude(Type t, const Range& a) {
  if (a.lo >= 0) return a;
  return clipped(t, {a.hi <= 0 ? -a.hi : Wide{0}, std::max(-a.lo, a.hi)});
}

Range constant(const ir::Function& f, ir::OpId id, Type t) {
  const auto u = static_cast<std::uint64_t>(f.attr(id, ir::AttrName::value));
  if (t.is_bool()) return {u != 0, u != 0};
  const int width = ir::bits(t.element());
  Wide v = static_cast<Wide>(u) & ((kOne << width) - 1);
  if (ir::is_signed(t.element()) && (v >> (width - 1)) != 0) v -= kOne << width;
  return {v, v};
}

}  // namespace

Range full_range(Type t) {
  if (t.is_bool()) return {0, 1};
  if (!t.is_integer()) return {};
  const int width = ir::bits(t.element());
  if (ir::is_signed(t.element())) return {-(kOne << (width - 1)), (kOne << (width - 1)) - 1};
  return {0, (kOne << width) - 1};
}

Range clipped(Type t, Range r) {
  const Range all = full_range(t);
  return r.lo <= r.hi && all.contains(r) ? r : all;
}

Range united(const Range& a, const Range& b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Range range_of(const ir::Function& f, ir::OpId id, std::span<const Range> in, std::span<const Type> types) {
  const Type t = f.type(f.result(id));
  const OpKind k = f.kind(id);
  if (!t.is_integer() && !t.is_bool()) return {};
  if (ir::info(k).has(ir::kKeepsElements)) return in[0];
  switch (k) {
    case OpKind::program_id_: return {0, kMaxI32 - 1};
    case OpKind::num_programs_: return {1, kMaxI32};
    case OpKind::constant_: return constant(f, id, t);
    case OpKind::arange_: return {f.attr(id, ir::AttrName::lo), f.attr(id, ir::AttrName::hi) - 1};
    case OpKind::histogram_: return {0, types[0].elements()};
    case OpKind::join_:
    case OpKind::cat_: return united(in[0], in[1]);
    case OpKind::add_: return clipped(t, {in[0].lo + in[1].lo, in[0].hi + in[1].hi});
    case OpKind::sub_: return clipped(t, {in[0].lo - in[1].hi, in[0].hi - in[1].lo});
    case OpKind::mul_: return product(t, in[0], in[1]);
    case OpKind::div_: return quotient(t, in[0], in[1]);
    case OpKind::rem_: return remainder(t, in[0], in[1]);
    case OpKind::bit_and_:
    case OpKind::bit_or_:
    case OpKind::bit_xor_: return bits(k, t, in[0], in[1]);
    case OpKind::shl_:
    case OpKind::shr_: return shifted(k, t, in[0], in[1]);
    case OpKind::minimum_: return {std::min(in[0].lo, in[1].lo), std::min(in[0].hi, in[1].hi)};
    case OpKind::maximum_: return {std::max(in[0].lo, in[1].lo), std::max(in[0].hi, in[1].hi)};
    case OpKind::neg_: return clipped(t, {-in[0].hi, -in[0].lo});
    case OpKind::abs_: return magnitude(t, in[0]);
    case OpKind::select_: return united(in[1], in[2]);
    case OpKind::popcount_:
    case OpKind::clz_:
    case OpKind::ffs_: return {0, ir::bits(types[0].element())};
    case OpKind::cast_: return types[0].is_integer() || types[0].is_bool() ? clipped(t, in[0]) : full_range(t);
    default: return full_range(t);
  }
}

}  // namespace tilewright::passes
