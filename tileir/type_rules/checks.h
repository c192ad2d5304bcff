// Declares the type rules of ops.def, one function each, and defines the checks that they share. Private to the type rules.
#pragma once
#include <bit>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tileir/type_rules/rule.h"

namespace tilewright::ir::rules {

/// An error of an op; `operand`: the index of the wrong operand, or -1.
template <class... Args>
RuleResult fail(const RuleInput& in, int operand, fmt::format_string<Args...> format, Args&&... args) {
  return {{}, fmt::format("{}: {}", text(in.kind), fmt::format(format, std::forward<Args>(args)...)), operand};
}

inline RuleResult one(Type t) { return {{t}, {}, -1}; }
inline RuleResult none() { return {}; }

/// "'mask'"; if several operands share a name: "'init' 2".
inline std::string name(const RuleInput& in, int i) {
  const OpInfo& row = info(in.kind);
  const int last = static_cast<int>(row.operands.size()) - 1;
  const bool numbered = last >= 0 && row.operands[last].variadic && i >= last && static_cast<int>(in.operands.size()) > last + 1;
  return numbered ? fmt::format("'{}' {}", row.operand_name(i), i - last + 1) : fmt::format("'{}'", row.operand_name(i));
}
/// "'x' is f32[64]"
inline std::string seen(const RuleInput& in, int i) { return fmt::format("{} is {}", name(in, i), text(in.operands[i])); }
/// "'x' is [64, 32]"
inline std::string seen_shape(const RuleInput& in, int i) { return fmt::format("{} is {}", name(in, i), shape_text(in.operands[i])); }

inline bool is_number(Type t) { return t.is_integer() || (t.is_float() && !is_fp8(t.element())); }
inline bool is_arithmetic_float(Type t) { return t.is_float() && !is_fp8(t.element()); }
inline bool is_plain(Type t) { return !t.is_pointer() && !t.is_buffer() && !t.is_mbarrier() && !t.is_tensor_map(); }

/// Checks that all operands have the type of the first one, and that `accepts` is true for it. On success the result is empty.
inline RuleResult check_alike(const RuleInput& in, bool (*accepts)(Type), std::string_view expected) {
  const Type first = in.operands[0];
  if (!accepts(first)) {
    const bool castable = is_plain(first) && (is_fp8(first.element()) || first.is_bool()) && accepts(Type(Element::f32));
    return fail(in, 0, "{}; {}{}", seen(in, 0), expected, castable ? " (cast it first)" : "");
  }
  for (std::size_t i = 1; i < in.operands.size(); ++i) {
    const int at = static_cast<int>(i);
    if (in.operands[i] == first) continue;
    if (in.operands[i].same_shape(first)) return fail(in, at, "{}; it must be {} as 'a' is", seen(in, at), text(first));
    return fail(in, at, "{}; its shape must be {} as that of 'a'", seen_shape(in, at), shape_text(first));
  }
  return {};
}

inline RuleResult alike(const RuleInput& in, bool (*accepts)(Type), std::string_view expected) {
  RuleResult r = check_alike(in, accepts, expected);
  return r.ok() ? one(in.operands[0]) : r;
}

inline RuleResult comparison(const RuleInput& in, bool (*accepts)(Type), std::string_view expected) {
  RuleResult r = check_alike(in, accepts, expected);
  return r.ok() ? one(in.operands[0].with_element(Element::boolean)) : r;
}

inline RuleResult check_size(const RuleInput& in, Type t) {
  if (t.log2_elements() <= kMaxLog2Elements) return {};
  return fail(in, -1, "the result {} has 2^{} elements; a tile has at most 2^{}", text(t), t.log2_elements(), kMaxLog2Elements);
}

/// The declared result type, for ops whose result type does not follow from their operands.
inline RuleResult stated(const RuleInput& in) {
  if (in.declared.size() == 1) {
    RuleResult r = check_size(in, in.declared[0]);  // first, because rules continue by counting its elements
    return r.ok() ? one(in.declared[0]) : r;
  }
  return fail(in, -1, "{} result types are stated; it must be 1", in.declared.size());
}

inline bool is_scalar_bool(Type t) { return t.is_scalar() && t.is_bool(); }

/// Checks the attribute divisor, which divides an index of type i32.
inline RuleResult check_divisor(const RuleInput& in) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const std::int64_t divisor = in.number(AttrName::divisor, 1);
  if (divisor >= 1 && divisor <= kMost && std::has_single_bit(static_cast<std::uint64_t>(divisor))) return {};
  return fail(in, -1, "divisor is {}; it must be a power of two, at most {}", divisor, kMost);
}

/// Checks that operand i, if present, is a mask for tiles of this shape.
inline RuleResult check_mask(const RuleInput& in, int i, Type like) {
  if (i >= static_cast<int>(in.operands.size())) return {};
  const Type mask = in.operands[i];
  if (!mask.is_bool()) return fail(in, i, "{}; its elements must be i1", seen(in, i));
  if (!mask.same_shape(like))
    return fail(in, i, "{}; its shape must be {} as that of {}", seen_shape(in, i), shape_text(like), name(in, 0));
  return {};
}

/// Checks that operand i, if present, has the type that operand 0 points to.
inline RuleResult check_pointee(const RuleInput& in, int i) {
  if (i >= static_cast<int>(in.operands.size()) || in.operands[i] == in.operands[0].pointee()) return {};
  return fail(in, i, "{}; it must be {}, which 'pointer' points to", seen(in, i), text(in.operands[0].pointee()));
}

/// Checks that the attribute axis is an axis of operand 0. purpose: " to reduce".
inline RuleResult check_axis(const RuleInput& in, std::string_view purpose = "") {
  const Type t = in.operands[0];
  const std::int64_t axis = in.number(AttrName::axis);
  if (t.is_scalar()) return fail(in, 0, "{} is a scalar; it must have an axis{}", name(in, 0), purpose);
  if (axis < 0 || axis >= t.rank()) return fail(in, 0, "axis is {}; it must be 0 to {}, since {}", axis, t.rank() - 1, seen_shape(in, 0));
  return {};
}

/// Checks that every operand has the first one's shape and is not a pointer; the results are the operands in `shape`. done: "reduced".
inline RuleResult tiles_in(const RuleInput& in, std::span<const std::int64_t> shape, std::string_view done) {
  RuleResult r;
  for (std::size_t i = 0; i < in.operands.size(); ++i) {
    const int at = static_cast<int>(i);
    if (in.operands[i].is_pointer()) return fail(in, at, "{}; pointers cannot be {}", seen(in, at), done);
    if (!in.operands[i].same_shape(in.operands[0]))
      return fail(in, at, "{}; its shape must be {} as that of {}", seen_shape(in, at), shape_text(in.operands[0]), name(in, 0));
    r.types.push_back(in.operands[i].with_shape(shape));
  }
  return r;
}

// Declares RuleResult rule_number(const RuleInput&) and so on.
#define TW_OP(name, family, traits, operands, results, regions, attributes, rule, layout, doc) RuleResult rule_##rule(const RuleInput&);
#include "tileir/ops.def"
#undef TW_OP

}  // namespace tilewright::ir::rules
