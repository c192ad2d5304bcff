// Transfer functions. The comment beside each claim proves it for the bits, modulo 2^width. Where the proof needs arithmetic that does not
// wrap (a signed 32- or 64-bit index extended to 64 bits), axis_info.h says so and `assumes_no_wrap` is set.
//
// Notation, for one axis: c contiguity, k constancy, d divisibility; "aligned run of L": positions [i L, (i + 1) L).
#include "passes/analysis/axis_info_transfer.h"

#include <algorithm>
#include <bit>

#include "tileir/builder.h"
#include "tileir/interpreter/evaluate_scalar.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

using Operands = std::span<const LatticeElement* const>;

/// The largest power of two that divides x.
std::int64_t power_of_two_in(std::uint64_t x) { return x == 0 ? kMaxDivisibility : std::int64_t{1} << std::min(std::countr_zero(x), 62); }

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {  // both are powers of two
  const int log = std::countr_zero(static_cast<std::uint64_t>(a)) + std::countr_zero(static_cast<std::uint64_t>(b));
  return std::int64_t{1} << std::min(log, 62);
}

/// The distance of successive elements, in the unit of divisibility.
std::int64_t unit(Type t) { return t.is_pointer() ? ir::bytes(t.element()) : 1; }

/// A divisor of the elements at multiples of `run` along axis d: each is the start of a run, or a multiple of `run` after a start.
std::int64_t divisibility_at(const LatticeElement& x, int d, std::int64_t run) {
  const std::int64_t start = x.info.divisibility[d];
  return run >= x.info.contiguity[d] ? start : std::min(start, saturating_product(run, unit(x.type)));
}

/// The length of runs whose positions and values start at a multiple of their length: such a run does not wrap.
std::int64_t aligned_run(const LatticeElement& x, int d) {
  const std::int64_t half = x.type.is_integer() ? std::int64_t{1} << std::min(ir::bits(x.type.element()) - 1, 62) : kMaxDivisibility;
  return std::min({x.info.contiguity[d], x.info.divisibility[d], half});
}

/// Shortens the runs along axis d. The starts of shorter runs have a smaller divisor.
void shorten(LatticeElement& x, int d, std::int64_t run) {
  x.info.divisibility[d] = divisibility_at(x, d, run);
  x.info.contiguity[d] = std::min(x.info.contiguity[d], run);
}

/// An element about which only the divisor `all` is known.
LatticeElement divisible(Type t, std::int64_t all) {
  LatticeElement r{t, {}, full_range(t)};
  r.info.scalar_divisibility = all;
  for (int d = 0; d < t.rank(); ++d) r.info.divisibility[d] = all;
  return r;
}

/// As divisible(); in addition constant along runs where all operands are constant.
LatticeElement lane_wise(Type t, std::int64_t all, Operands in) {
  LatticeElement r = divisible(t, all);
  for (int d = 0; d < t.rank(); ++d) {
    r.info.constancy[d] = t.extent(d);
    for (const LatticeElement* x : in) r.info.constancy[d] = std::min(r.info.constancy[d], x->info.constancy[d]);
  }
  return r;
}

/// Sets the runs along axis d; a divisor of all elements also divides the starts of runs.
void set_run(LatticeElement& r, int d, std::int64_t run, std::int64_t start_divisibility) {
  r.info.contiguity[d] = run;
  r.info.divisibility[d] = std::max(r.info.scalar_divisibility, start_divisibility);
}

/// An integer extended to the 64-bit offset or to a wider integer: a run that may wrap is cut into aligned runs, which do not wrap.
LatticeElement extended(const LatticeElement& x) {
  LatticeElement r = x;
  if (!x.type.is_integer()) return r;
  const bool is_index = ir::is_signed(x.type.element()) && ir::bits(x.type.element()) >= 32;
  const Range all = full_range(x.type);
  // A run that wraps contains both ends of the type's range.
  if (x.range.lo > all.lo || x.range.hi < all.hi) return r;
  for (int d = 0; d < x.type.rank(); ++d) {
    const std::int64_t run = aligned_run(x, d);
    if (is_index)
      r.info.assumes_no_wrap = r.info.assumes_no_wrap || run < x.info.contiguity[d];
    else
      shorten(r, d, run);
  }
  return r;
}

// ---- sums ----

// If a has runs and b is constant, or the other way round, the sum has runs: (x + j) + y. Its starts have the common divisor of the parts.
LatticeElement sum(Type t, const LatticeElement& a, const LatticeElement& b, bool subtract) {
  const LatticeElement* in[] = {&a, &b};
  LatticeElement r = lane_wise(t, std::min(divisibility_of_all(a), divisibility_of_all(b)), in);
  for (int d = 0; d < t.rank(); ++d) {
    std::int64_t run = std::min(a.info.contiguity[d], b.info.constancy[d]);
    if (!subtract) run = std::max(run, std::min(a.info.constancy[d], b.info.contiguity[d]));
    set_run(r, d, run, std::min(divisibility_at(a, d, run), divisibility_at(b, d, run)));
  }
  return r;
}

LatticeElement address(Type t, const LatticeElement& p, const LatticeElement& offset) {
  LatticeElement bytes = extended(offset);  // the offset in bytes: a run of elements
  bytes.type = Type::pointer(t.element(), false, t.shape());
  for (auto& x : bytes.info.divisibility) x = saturating_product(x, unit(t));
  bytes.info.scalar_divisibility = saturating_product(bytes.info.scalar_divisibility, unit(t));
  return sum(t, p, bytes, false);
}

// ---- products, quotients ----

LatticeElement multiply(Type t, Operands in) {
  return lane_wise(t, saturating_product(divisibility_of_all(*in[0]), divisibility_of_all(*in[1])), in);
}

/// A divisor of x / 2^log, where `divisibility` is one of x; at least 1. (The shift is at most 62, since kMaxDivisibility is 2^62.)
std::int64_t divided(std::int64_t divisibility, int log) { return std::max<std::int64_t>(divisibility >> std::min(log, 62), 1); }

// floor((s + j) / b) = s / b for j < L if L divides s and b: constant over aligned runs of L. Division truncates, so x >= 0 is required.
LatticeElement divide(Type t, Operands in) {
  const LatticeElement &a = *in[0], &b = *in[1];
  std::int64_t all = 1;
  if (b.info.constant && *b.info.constant > 0 && std::has_single_bit(static_cast<std::uint64_t>(*b.info.constant)))
    all = divided(divisibility_of_all(a), std::countr_zero(static_cast<std::uint64_t>(*b.info.constant)));
  LatticeElement r = lane_wise(t, all, in);
  if (!a.range.is_nonnegative()) return r;
  for (int d = 0; d < t.rank(); ++d) {
    const std::int64_t run = std::min({aligned_run(a, d), divisibility_of_all(b), b.info.constancy[d]});
    r.info.constancy[d] = std::max(r.info.constancy[d], run);
  }
  return r;
}

// (s + j) % b = s % b + j for j < L if L divides s and b, s >= 0: s % b is a multiple of L, at most |b| - L. (x % 0 = x keeps runs too.)
LatticeElement remainder(Type t, Operands in) {
  const LatticeElement &a = *in[0], &b = *in[1];
  LatticeElement r = lane_wise(t, std::min(divisibility_of_all(a), divisibility_of_all(b)), in);
  if (!a.range.is_nonnegative()) return r;
  for (int d = 0; d < t.rank(); ++d) {
    const std::int64_t run = std::min({aligned_run(a, d), divisibility_of_all(b), b.info.constancy[d]});
    set_run(r, d, run, std::min(divisibility_at(a, d, run), divisibility_of_all(b)));
  }
  return r;
}

LatticeElement shift_left(Type t, Operands in) {
  const LatticeElement &a = *in[0], &b = *in[1];
  std::int64_t all = divisibility_of_all(a);  // x << y is a multiple of x, or 0
  if (b.info.constant && *b.info.constant >= 0 && *b.info.constant < ir::bits(t.element()))
    all = saturating_product(all, std::int64_t{1} << std::min<std::int64_t>(*b.info.constant, 62));
  return lane_wise(t, all, in);
}

// x >> y is floor(x / 2^y), also for negative x: the claim of divide, without its condition.
LatticeElement shift_right(Type t, Operands in) {
  const LatticeElement &a = *in[0], &b = *in[1];
  if (!b.info.constant || *b.info.constant < 0 || *b.info.constant >= ir::bits(t.element())) return lane_wise(t, 1, in);
  const int log = static_cast<int>(*b.info.constant);
  const std::int64_t power = std::int64_t{1} << std::min(log, 62);
  LatticeElement r = lane_wise(t, divided(divisibility_of_all(a), log), in);
  for (int d = 0; d < t.rank(); ++d) r.info.constancy[d] = std::max(r.info.constancy[d], std::min(aligned_run(a, d), power));
  return r;
}

// ---- bits ----

LatticeElement bit_and(Type t, Operands in) {
  // Low bits that are zero in either operand are zero in the result.
  LatticeElement r = lane_wise(t, std::max(divisibility_of_all(*in[0]), divisibility_of_all(*in[1])), in);
  for (int i = 0; i < 2; ++i) {
    const LatticeElement &a = *in[i], &mask = *in[1 - i];
    if (!mask.info.constant || !t.is_integer()) continue;
    const auto m = static_cast<std::uint64_t>(*mask.info.constant);
    for (int d = 0; d < t.rank(); ++d) {
      if (std::has_single_bit(m + 1)) {
        // x & (2^n - 1) is x modulo 2^n: aligned runs of at most 2^n are preserved.
        const std::int64_t run = std::min(aligned_run(a, d), power_of_two_in(m + 1));
        set_run(r, d, run, divisibility_at(a, d, run));
      } else {
        // x & ...1000 has the same upper bits throughout an aligned run of at most 2^zeros.
        r.info.constancy[d] = std::max(r.info.constancy[d], std::min(aligned_run(a, d), power_of_two_in(m)));
      }
    }
  }
  return r;
}

LatticeElement least_divisor(Type t, Operands in) {
  std::int64_t all = kMaxDivisibility;
  for (const LatticeElement* x : in) all = std::min(all, divisibility_of_all(*x));
  return lane_wise(t, all, in);
}

LatticeElement extreme(Type t, Operands in, bool least) {
  const Range &a = in[0]->range, &b = in[1]->range;
  if (least ? a.hi <= b.lo : a.lo >= b.hi) return *in[0];  // one operand is always chosen
  if (least ? b.hi <= a.lo : b.lo >= a.hi) return *in[1];
  return least_divisor(t, in);
}

// ---- choices ----

// Where the condition is constant, the result is a slice of one of the arms.
LatticeElement select(Type t, Operands in) {
  const LatticeElement &c = *in[0], &a = *in[1], &b = *in[2];
  LatticeElement r = lane_wise(t, std::min(divisibility_of_all(a), divisibility_of_all(b)), in);
  for (int d = 0; d < t.rank(); ++d) {
    const std::int64_t run = std::min({a.info.contiguity[d], b.info.contiguity[d], c.info.constancy[d]});
    set_run(r, d, run, std::min(divisibility_at(a, d, run), divisibility_at(b, d, run)));
  }
  return r;
}

// If L divides s and b, s + j < b is the same as s < b for every j < L, and so is >=. (<= and > may change at s = b.)
LatticeElement compare(OpKind k, Type t, Operands in) {
  LatticeElement r = lane_wise(t, 1, in);
  if (!in[0]->type.is_integer()) return r;
  const bool forward = k == OpKind::lt_ || k == OpKind::ge_, backward = k == OpKind::gt_ || k == OpKind::le_;
  if (!forward && !backward) return r;
  const LatticeElement &a = forward ? *in[0] : *in[1], &b = forward ? *in[1] : *in[0];  // x > y is y < x
  for (int d = 0; d < t.rank(); ++d) {
    const std::int64_t run = std::min({aligned_run(a, d), divisibility_of_all(b), b.info.constancy[d]});
    r.info.constancy[d] = std::max(r.info.constancy[d], run);
  }
  return r;
}

// ---- conversions ----

LatticeElement cast(Type t, Operands in) {
  const LatticeElement& x = *in[0];
  if (!t.is_integer() || !x.type.is_integer()) return lane_wise(t, 1, in);
  // A cast to the same width or fewer bits takes values modulo 2^width, and all claims hold modulo 2^width.
  LatticeElement r = ir::bits(t.element()) > ir::bits(x.type.element()) ? extended(x) : x;
  r.type = t;
  if (ir::bits(t.element()) <= 32) r.info.assumes_no_wrap = false;
  return r;
}

LatticeElement bitcast(Type t, Operands in) {
  const LatticeElement& x = *in[0];
  const bool alike = (t.is_integer() && x.type.is_integer()) || (t.is_pointer() && x.type.is_pointer() && unit(t) == unit(x.type));
  LatticeElement r = x;
  r.type = t;
  if (alike) return r;
  const bool addresses = (t.is_pointer() || t.is_integer()) && (x.type.is_pointer() || x.type.is_integer());
  return lane_wise(t, addresses ? divisibility_of_all(x) : 1, in);  // a run with a step other than 1 is not a run
}

// ---- shapes ----

LatticeElement broadcast(Type t, const LatticeElement& x) {
  if (x.type.is_scalar()) return uniform(t, x.info.scalar_divisibility, x.range);
  LatticeElement r = x;
  r.type = t;
  for (int d = 0; d < t.rank(); ++d)
    if (t.log2_extent(d) != x.type.log2_extent(d)) r.info.constancy[d] = t.extent(d);  // from one element, a run of one
  return r;
}

LatticeElement permute(const Function& f, OpId id, Type t, const LatticeElement& x) {
  LatticeElement r = x;
  r.type = t;
  const auto& axes = f.attr_list(id, ir::AttrName::axes);
  for (int d = 0; d < t.rank(); ++d) {
    r.info.contiguity[d] = x.info.contiguity[axes[d]];
    r.info.divisibility[d] = x.info.divisibility[axes[d]];
    r.info.constancy[d] = x.info.constancy[axes[d]];
  }
  return r;
}

/// The last axis of more than one element before axis `end`, or -1.
int last_long_axis(Type t, int end) {
  for (int d = end - 1; d >= 0; --d)
    if (t.log2_extent(d) > 0) return d;
  return -1;
}

// From the last axis outwards, axes of equal extent correspond. The first pair of unequal axes starts at the same elements too, so runs
// that are no longer than the shorter extent are preserved; for axes further out nothing is known.
LatticeElement reshape(Type t, const LatticeElement& x) {
  if (x.type.is_scalar()) return uniform(t, x.info.scalar_divisibility, x.range);
  LatticeElement r = divisible(t, divisibility_of_all(x));
  r.range = x.range;
  int from = last_long_axis(x.type, x.type.rank()), to = last_long_axis(t, t.rank());
  while (from >= 0 && to >= 0) {
    const std::int64_t shared = std::min(x.type.extent(from), t.extent(to));
    const std::int64_t run = std::min(x.info.contiguity[from], shared);
    set_run(r, to, run, divisibility_at(x, from, run));
    r.info.constancy[to] = std::min(x.info.constancy[from], shared);
    if (x.type.log2_extent(from) != t.log2_extent(to)) break;
    from = last_long_axis(x.type, from);
    to = last_long_axis(t, to);
  }
  return r;
}

LatticeElement arange(const Function& f, OpId id, Type t) {
  const auto lo = static_cast<std::uint64_t>(f.attr(id, ir::AttrName::lo));
  LatticeElement r = divisible(t, 1);
  set_run(r, 0, t.extent(0), power_of_two_in(lo));
  return r;
}

/// The strongest claims that a chain of hints makes about one value, as powers of two.
struct Claims {
  std::int64_t divisor = 1, length = 1;
};
Claims claims_of(const Function& f, OpId id) {
  Claims c;
  for (; id && ir::info(f.kind(id)).family == ir::Family::hint; id = f.value(f.operand(id, 0)).op) {
    const auto number = [&](ir::AttrName a) { return power_of_two_in(static_cast<std::uint64_t>(f.attr(id, a))); };
    if (f.kind(id) == OpKind::multiple_of_) c.divisor = std::max(c.divisor, number(ir::AttrName::divisor));
    if (f.kind(id) == OpKind::max_contiguous_) c.length = std::max(c.length, number(ir::AttrName::length));
  }
  return c;
}

// A hint's divisor is that of the first element of each run. A known run may be part of a longer run, which started a multiple of the known
// run's length before: a number that divides that length and the hint's divisor also divides the start. Equal neighbours form no run.
LatticeElement hinted(const Function& f, OpId id, const LatticeElement& x) {
  LatticeElement r = x;
  const Claims c = claims_of(f, id);
  const int last = x.type.rank() - 1;
  if (last < 0) {
    r.info.scalar_divisibility = std::max(r.info.scalar_divisibility, c.divisor);
    return r;
  }
  const std::int64_t extent = x.type.extent(last), run = std::max(r.info.contiguity[last], std::min(c.length, extent));
  const std::int64_t start = run == extent ? c.divisor : std::min(c.divisor, saturating_product(run, unit(x.type)));
  if (extent == 1 || r.info.constancy[last] > 1) {
    r.info.scalar_divisibility = std::max(r.info.scalar_divisibility, c.divisor);
    for (int d = 0; d < last; ++d) r.info.divisibility[d] = std::max(r.info.divisibility[d], c.divisor);
  }
  set_run(r, last, run, std::max(r.info.divisibility[last], start));
  return r;
}

/// The lattice element of a tile whose elements are all v.
LatticeElement known(Type t, std::int64_t v) {
  LatticeElement r = uniform(t, power_of_two_in(static_cast<std::uint64_t>(v)), {});
  r.info.constant = v;
  return r;
}

LatticeElement constant(const Function& f, OpId id, Type t) {
  if (t.is_pointer()) return uniform(t, kMaxDivisibility, {});
  if (!t.is_integer() && !t.is_bool()) return uniform(t, 1, {});
  return known(t, ir::integer_value(t.element(), static_cast<std::uint64_t>(f.attr(id, ir::AttrName::value))));
}

/// Evaluates an element-wise op or a change of shape whose operands are all known constants.
std::optional<LatticeElement> evaluated(OpKind k, Type t, Operands in) {
  const auto same_constant = [&](const LatticeElement* x) { return x->info.constant && x->info.constant == in[0]->info.constant; };
  if (ir::info(k).family == ir::Family::shape && std::all_of(in.begin(), in.end(), same_constant)) return known(t, *in[0]->info.constant);
  if (!ir::info(k).has(ir::kElementwise) || in.empty() || in.size() > 3 || !(t.is_integer() || t.is_bool())) return std::nullopt;
  Type types[3];
  std::uint64_t bits[3];
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i]->info.constant) return std::nullopt;
    types[i] = in[i]->type.scalar();
    bits[i] = ir::element_bits(types[i].element(), *in[i]->info.constant);
  }
  const std::uint64_t u = ir::evaluate_scalar(k, std::span(types).first(in.size()), std::span(bits).first(in.size()), t.scalar());
  return known(t, ir::integer_value(t.element(), u));
}

LatticeElement transfer_of(const Function& f, OpId id, Type t, Operands in) {
  const OpKind k = f.kind(id);
  if (const auto all_known = evaluated(k, t, in)) return *all_known;
  switch (k) {
    case OpKind::constant_: return constant(f, id, t);
    case OpKind::arange_: return arange(f, id, t);
    case OpKind::reshape_: return reshape(t, *in[0]);
    case OpKind::broadcast_: return broadcast(t, *in[0]);
    case OpKind::permute_: return permute(f, id, t, *in[0]);
    case OpKind::cast_: return cast(t, in);
    case OpKind::bitcast_: return bitcast(t, in);
    case OpKind::convert_layout_: return *in[0];
    case OpKind::add_ptr_: return address(t, *in[0], *in[1]);
    case OpKind::select_: return select(t, in);
    case OpKind::multiple_of_:
    case OpKind::max_contiguous_: return hinted(f, id, *in[0]);
    case OpKind::eq_:
    case OpKind::ne_:
    case OpKind::lt_:
    case OpKind::le_:
    case OpKind::gt_:
    case OpKind::ge_: return compare(k, t, in);
    default: break;
  }
  if (!ir::info(k).has(ir::kElementwise)) return unknown(t);
  if (!t.is_integer()) return lane_wise(t, 1, in);
  switch (k) {
    case OpKind::add_:
    case OpKind::sub_: return sum(t, *in[0], *in[1], k == OpKind::sub_);
    case OpKind::mul_: return multiply(t, in);
    case OpKind::div_: return divide(t, in);
    case OpKind::rem_: return remainder(t, in);
    case OpKind::shl_: return shift_left(t, in);
    case OpKind::shr_: return shift_right(t, in);
    case OpKind::bit_and_: return bit_and(t, in);
    case OpKind::bit_or_:
    case OpKind::bit_xor_:
    case OpKind::neg_:
    case OpKind::abs_: return least_divisor(t, in);
    case OpKind::minimum_:
    case OpKind::maximum_: return extreme(t, in, k == OpKind::minimum_);
    default: return lane_wise(t, 1, in);
  }
}

}  // namespace

LatticeElement unknown(Type t) { return divisible(t, 1); }

LatticeElement uniform(Type t, std::int64_t divisibility, Range range) {
  LatticeElement r = divisible(t, divisibility);
  r.range = range;
  for (int d = 0; d < t.rank(); ++d) r.info.constancy[d] = t.extent(d);
  return r;
}

std::int64_t divisibility_of_all(const LatticeElement& x) {
  // The divisor for all elements follows from any axis; a scalar has no axis.
  std::int64_t all = x.type.is_scalar() ? x.info.scalar_divisibility : 1;
  for (int d = 0; d < x.type.rank(); ++d) all = std::max(all, divisibility_at(x, d, 1));
  return all;
}

LatticeElement meet(const LatticeElement& a, const LatticeElement& b) {
  LatticeElement r = divisible(a.type, std::min(divisibility_of_all(a), divisibility_of_all(b)));
  for (int d = 0; d < a.type.rank(); ++d) {
    const std::int64_t run = std::min(a.info.contiguity[d], b.info.contiguity[d]);
    set_run(r, d, run, std::min(divisibility_at(a, d, run), divisibility_at(b, d, run)));
    r.info.constancy[d] = std::min(a.info.constancy[d], b.info.constancy[d]);
  }
  if (a.info.constant == b.info.constant) r.info.constant = a.info.constant;
  r.info.assumes_no_wrap = a.info.assumes_no_wrap || b.info.assumes_no_wrap;
  r.range = united(a.range, b.range);
  return r;
}

LatticeElement transfer(const Function& f, OpId id, Operands in) {
  const Type t = f.type(f.result(id));
  LatticeElement r = transfer_of(f, id, t, in);
  // A value that is computed from wider integers has runs under the same assumption as theirs.
  if (t.is_pointer() || (t.is_integer() && ir::bits(t.element()) > 32))
    for (const LatticeElement* x : in) r.info.assumes_no_wrap = r.info.assumes_no_wrap || x->info.assumes_no_wrap;
  std::array<Range, 3> ranges;
  std::array<Type, 3> types;
  if (in.size() > ranges.size()) return r;
  for (std::size_t i = 0; i < in.size(); ++i) {
    ranges[i] = in[i]->range;
    types[i] = in[i]->type;
  }
  r.range = range_of(f, id, std::span(ranges).first(in.size()), std::span(types).first(in.size()));
  return r;
}

}  // namespace tilewright::passes
