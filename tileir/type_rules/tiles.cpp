// The type rules from scan to inline_ptx in ops.def: ops that work on whole tiles, atomics, prints, assertions, hints.
#include <bit>

#include "tileir/text/print_format.h"
#include "tileir/type_rules/checks.h"

namespace tilewright::ir::rules {

// ---- scan ----

RuleResult rule_scan(const RuleInput& in) {
  if (in.operands.empty()) return fail(in, -1, "there is nothing to scan; expected at least one tile");
  if (RuleResult r = check_axis(in); !r.ok()) return r;
  return tiles_in(in, in.operands[0].shape(), "scanned");
}

// ---- sort and index ----

RuleResult rule_sort(const RuleInput& in) {
  const Type keys = in.operands[0];
  if (!is_number(keys)) return fail(in, 0, "{}; expected integers, f16, bf16, f32 or f64", seen(in, 0));
  if (keys.is_scalar()) return fail(in, 0, "{} is a scalar; it must have an axis to sort along", name(in, 0));
  const std::int64_t extent = keys.extent(keys.rank() - 1), count = in.number(AttrName::count, extent);
  if (count < 1 || count > extent || !std::has_single_bit(static_cast<std::uint64_t>(count)))
    return fail(in, 0, "count is {}; it must be a power of two from 1 to {}, since {}", count, extent, seen_shape(in, 0));
  std::vector<std::int64_t> shape = keys.shape();
  shape.back() = count;
  return tiles_in(in, shape, "sorted");
}

RuleResult rule_gather(const RuleInput& in) {
  if (RuleResult r = check_axis(in); !r.ok()) return r;
  const Type x = in.operands[0], index = in.operands[1];
  if (!index.is_integer()) return fail(in, 1, "{}; expected integers", seen(in, 1));
  if (index.rank() != x.rank()) return fail(in, 1, "{}; it must have rank {} as 'x' has", seen_shape(in, 1), x.rank());
  const std::int64_t along = in.number(AttrName::axis);
  for (int axis = 0; axis < x.rank(); ++axis)
    if (axis != along && index.extent(axis) != x.extent(axis))
      return fail(in, 1, "{}; extent {} of axis {} must be {} as that of 'x', which is {}", seen_shape(in, 1), index.extent(axis), axis,
                  x.extent(axis), shape_text(x));
  return one(x.with_shape(index.shape()));
}

RuleResult rule_histogram(const RuleInput& in) {
  const Type x = in.operands[0];
  if (!x.is_integer()) return fail(in, 0, "{}; expected integers", seen(in, 0));
  if (RuleResult r = check_mask(in, 1, x); !r.ok()) return r;
  const std::int64_t bins = in.number(AttrName::bins);
  if (bins < 1 || bins > std::int64_t{1} << kMaxLog2Elements || !std::has_single_bit(static_cast<std::uint64_t>(bins)))
    return fail(in, -1, "{} bins; the number must be a power of two up to 2^{}", bins, kMaxLog2Elements);
  const std::int64_t shape[] = {bins};
  return one(Type(Element::i32, shape));
}

// ---- atomics ----

/// Checks that operand 0 points to elements for which `accepts` is true and that may be written.
static RuleResult check_atomic(const RuleInput& in, bool (*accepts)(Type), std::string_view expected) {
  const Type pointer = in.operands[0];
  if (!pointer.is_pointer()) return fail(in, 0, "{}; expected pointers", seen(in, 0));
  if (pointer.is_const_pointer()) return fail(in, 0, "{}, which may be loaded only", seen(in, 0));
  if (!accepts(pointer.pointee().scalar())) return fail(in, 0, "{}; expected pointers to {}", seen(in, 0), expected);
  return check_pointee(in, 1);
}

static RuleResult atomic(const RuleInput& in, bool (*accepts)(Type), std::string_view expected) {
  if (RuleResult r = check_atomic(in, accepts, expected); !r.ok()) return r;
  if (RuleResult r = check_mask(in, 2, in.operands[0]); !r.ok()) return r;
  return one(in.operands[0].pointee());
}

static bool is_wide(Type t) { return is_number(t) && bits(t.element()) >= 32; }
static bool is_wide_integer(Type t) { return t.is_integer() && bits(t.element()) >= 32; }
static bool is_addable(Type t) { return is_wide(t) || t == Type(Element::f16) || t == Type(Element::bf16); }

RuleResult rule_atomic_add(const RuleInput& in) { return atomic(in, is_addable, "i32, i64, u32, u64, f16, bf16, f32 or f64"); }
RuleResult rule_atomic_number(const RuleInput& in) { return atomic(in, is_wide, "i32, i64, u32, u64, f32 or f64"); }
RuleResult rule_atomic_integer(const RuleInput& in) { return atomic(in, is_wide_integer, "i32, i64, u32 or u64"); }
RuleResult rule_atomic_update(const RuleInput& in) { return atomic(in, is_addable, "i32, i64, u32, u64, f16, bf16, f32 or f64"); }
RuleResult rule_atomic_cas(const RuleInput& in) {
  if (RuleResult r = check_atomic(in, is_wide, "i32, i64, u32, u64, f32 or f64"); !r.ok()) return r;
  if (RuleResult r = check_pointee(in, 2); !r.ok()) return r;
  if (RuleResult r = check_mask(in, 3, in.operands[0]); !r.ok()) return r;
  return one(in.operands[0].pointee());
}

// ---- linear algebra ----

RuleResult rule_dot_scaled(const RuleInput& in) {
  constexpr std::int64_t kBlock = 32;  // elements of K that share a scale
  const auto is_packed = [](Type t) { return t.element() == Element::u8; };
  for (int i : {0, 2}) {
    const Type t = in.operands[i];
    if (t.is_pointer() || !(is_packed(t) || (t.is_float() && is_fp8(t.element()))))
      return fail(in, i, "{}; expected f8e4m3, f8e5m2, or u8 that hold two e2m1 each", seen(in, i));
    if (t.rank() != 2) return fail(in, i, "{}; it must be {}", seen_shape(in, i), i == 0 ? "[M, K]" : "[K, N]");
  }
  const Type a = in.operands[0], b = in.operands[2];
  const std::int64_t m = a.extent(0), n = b.extent(1), k = a.extent(1) * (is_packed(a) ? 2 : 1), kb = b.extent(0) * (is_packed(b) ? 2 : 1);
  if (kb != k) return fail(in, 2, "{}, which is {} elements of K; it must be {} as of 'a'", seen_shape(in, 2), kb, k);
  if (k < kBlock) return fail(in, 0, "{}, which is {} elements of K; a scale is for {}", seen_shape(in, 0), k, kBlock);
  for (int i : {1, 3}) {
    const std::int64_t shape[] = {i == 1 ? m : n, k / kBlock};
    const Type expected(Element::u8, shape);
    if (in.operands[i] != expected)
      return fail(in, i, "{}; it must be {}, one for each {} and {} elements of K", seen(in, i), text(expected),
                  i == 1 ? "row of 'a'" : "column of 'b'", kBlock);
  }
  const std::int64_t shape[] = {m, n};
  const Type expected(Element::f32, shape);
  if (in.operands[4] != expected) return fail(in, 4, "{}; it must be {}", seen(in, 4), text(expected));
  return one(expected);
}

// ---- debug ----

static std::string_view string_of(const RuleInput& in, AttrName name) {
  for (const Attr& a : in.attrs)
    if (a.name == name) return a.text;
  return {};
}

RuleResult rule_device_print(const RuleInput& in) {
  const std::string wrong = wrong_with_print(string_of(in, AttrName::text), in.operands);
  return wrong.empty() ? none() : fail(in, -1, "{}", wrong);
}
RuleResult rule_device_assert(const RuleInput& in) {
  if (!in.operands[0].is_bool()) return fail(in, 0, "{}; its elements must be i1", seen(in, 0));
  if (RuleResult r = check_mask(in, 1, in.operands[0]); !r.ok()) return r;
  if (in.operands.size() > 2 && !in.operands[2].same_shape(in.operands[0]))
    return fail(in, 2, "{}; its shape must be {} as that of {}", seen_shape(in, 2), shape_text(in.operands[0]), name(in, 0));
  return none();
}

// ---- hints ----

RuleResult rule_assume(const RuleInput& in) {
  if (!in.operands[0].is_bool()) return fail(in, 0, "{}; its elements must be i1", seen(in, 0));
  return none();
}
static RuleResult hint(const RuleInput& in, AttrName number) {
  const Type x = in.operands[0];
  if (!x.is_integer() && !x.is_pointer()) return fail(in, 0, "{}; expected integers or pointers", seen(in, 0));
  if (in.number(number) < 1) return fail(in, -1, "{} is {}; it must be positive", text(number), in.number(number));
  return one(x);
}
RuleResult rule_multiple_of(const RuleInput& in) { return hint(in, AttrName::divisor); }
RuleResult rule_max_contiguous(const RuleInput& in) { return hint(in, AttrName::length); }

// ---- layout ----

RuleResult rule_convert_layout(const RuleInput& in) {
  if (in.operands[0].is_scalar()) return fail(in, 0, "{}; a scalar has no layout", seen(in, 0));
  return one(in.operands[0]);
}
RuleResult rule_barrier(const RuleInput&) { return none(); }

// ---- escape ----

RuleResult rule_inline_ptx(const RuleInput& in) {
  RuleResult r = stated(in);
  if (!r.ok()) return r;
  const Type result = r.types[0];
  const bool has_fallback = in.number(AttrName::has_fallback) != 0;
  if (has_fallback && (in.operands.empty() || in.operands.back() != result))
    return fail(in, static_cast<int>(in.operands.size()) - 1, "the fallback must be {} as the result is", text(result));
  for (std::size_t i = 0; i < in.operands.size(); ++i)
    if (!in.operands[i].same_shape(result))
      return fail(in, static_cast<int>(i), "{}; its shape must be {} as that of the result", seen_shape(in, static_cast<int>(i)),
                  shape_text(result));
  return r;
}

}  // namespace tilewright::ir::rules
